/* A pretended libnvidia-ml.so.1 that the real pynvml loads. Link with -Wl,-soname,libnvidia-ml.so.1.
 *
 * Its state is a file, named by FAKE_NVML_STATE and read again at each question, with lines "key=value":
 *   count=2            devices (default 2)      init=9        what nvmlInit answers
 *   hang=NAME          the C function that never returns
 *   0.code=15          what every question about device 0 answers      0.handle=15   what its handle answers
 *   0.remap_failure=1  0.ecc_unc_dram_volatile=2  0.link3.active=0  and so on: a value in place of the healthy one
 *   family=5           NVLink 5: counters by field only
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, TOO_SMALL = 7, WRONG_VERSION = 25 };
enum { LINKS = 4, MOST = 16 };

typedef struct { int index; } device_t;
static device_t devices[MOST];

static long long told(const char *key, long long otherwise) {
    const char *path = getenv("FAKE_NVML_STATE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[200];
    size_t length = strlen(key);
    if (!file) return otherwise;
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, key, length) && line[length] == '=') otherwise = atoll(line + length + 1);
    fclose(file);
    return otherwise;
}

static void maybe_hang(const char *name) {
    const char *path = getenv("FAKE_NVML_STATE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[200], wanted[200];
    int hangs = 0;
    if (!file) return;
    snprintf(wanted, sizeof wanted, "hang=%s", name);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        hangs |= !strcmp(line, wanted);
    }
    fclose(file);
    while (hangs) sleep(1000);
}

static long long of(device_t *device, const char *name, long long otherwise) {
    char key[100];
    snprintf(key, sizeof key, "%d.%s", device->index, name);
    return told(key, otherwise);
}

#define ASKED(device, out) \
    do { \
        maybe_hang(__func__); \
        if (!(device) || !(out)) return INVALID; \
        int code = (int)of((device_t *)(device), "code", OK); \
        if (code) return code; \
    } while (0)

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    maybe_hang(__func__);
    for (int i = 0; i < MOST; i++) devices[i].index = i;
    return (int)told("init", OK);
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { maybe_hang(__func__); return OK; }

const char *nvmlErrorString(int code) {
    switch (code) {
    case 3: return "Not Supported";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 16: return "GPU requires reset";
    case 18: return "Driver/library version mismatch";
    default: return "an error";
    }
}

int nvmlSystemGetDriverVersion(char *out, unsigned size) { snprintf(out, size, "555.42"); return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { maybe_hang(__func__); *out = (unsigned)told("count", 2); return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t **out) {
    maybe_hang(__func__);
    if (index >= MOST) return INVALID;
    int code = (int)of(&devices[index], "handle", OK);
    if (code) return code;
    *out = &devices[index];
    return OK;
}

int nvmlDeviceGetUUID(device_t *device, char *out, unsigned size) {
    ASKED(device, out);
    snprintf(out, size, "GPU-0000-%d", device->index);
    return OK;
}
int nvmlDeviceGetSerial(device_t *device, char *out, unsigned size) {
    ASKED(device, out);
    snprintf(out, size, "165%d", device->index);
    return OK;
}
int nvmlDeviceGetMinorNumber(device_t *device, unsigned *out) {
    ASKED(device, out);
    *out = (unsigned)device->index;
    return OK;
}

typedef struct {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} pci_t;
int nvmlDeviceGetPciInfo_v3(device_t *device, pci_t *out) {
    ASKED(device, out);
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", 0x10 + device->index);
    return OK;
}

int nvmlDeviceGetMemoryErrorCounter(device_t *device, int kind, int span, int place, unsigned long long *out) {
    char name[60];
    ASKED(device, out);
    if (place != 2 && place != 7) return NOT_SUPPORTED;
    snprintf(name, sizeof name, "ecc_%s_%s_%s", kind ? "unc" : "corr", place == 2 ? "dram" : "sram",
             span ? "aggregate" : "volatile");
    *out = (unsigned long long)of(device, name, 0);
    return OK;
}
int nvmlDeviceGetTotalEccErrors(device_t *device, int kind, int span, unsigned long long *out) {
    char name[60];
    ASKED(device, out);
    snprintf(name, sizeof name, "ecc_%s_%s", kind ? "unc" : "corr", span ? "aggregate" : "volatile");
    *out = (unsigned long long)of(device, name, 0);
    return OK;
}
int nvmlDeviceGetRemappedRows(device_t *device, unsigned *corr, unsigned *unc, unsigned *pending, unsigned *failure) {
    ASKED(device, failure);
    *corr = 0;
    *unc = (unsigned)of(device, "remapped_rows_uncorrectable", 0);
    *pending = (unsigned)of(device, "remap_pending", 0);
    *failure = (unsigned)of(device, "remap_failure", 0);
    return OK;
}

typedef struct {
    uint32_t field, scope;
    int64_t at, latency;
    unsigned type, code;
    union { double d; unsigned ui; unsigned long ul; unsigned long long ull; } value;
} field_t;
static void answer_field(device_t *device, field_t *field) {
    char name[60];
    field->type = 1;
    field->code = OK;
    field->value.ull = 0;
    switch (field->field) {
    case 82: field->value.ui = 60; return;
    case 91: field->value.ui = LINKS; return;
    case 230: field->value.ui = (unsigned)of(device, "recovery_action", 0); return;
    case 213: snprintf(name, sizeof name, "link%u.recovery", field->scope); break;
    case 214: snprintf(name, sizeof name, "link%u.recovery_failed", field->scope); break;
    case 215: snprintf(name, sizeof name, "link%u.events", field->scope); break;
    default: field->code = NOT_SUPPORTED; return;
    }
    if (told("family", 4) != 5) field->code = NOT_SUPPORTED;
    else field->value.ui = (unsigned)of(device, name, 0);
}
int nvmlDeviceGetFieldValues(device_t *device, int count, field_t *fields) {
    ASKED(device, fields);
    for (int i = 0; i < count; i++) answer_field(device, &fields[i]);
    return OK;
}

int nvmlDeviceGetNvLinkState(device_t *device, unsigned link, unsigned *out) {
    char name[60];
    ASKED(device, out);
    if (link >= LINKS) return NOT_SUPPORTED;
    snprintf(name, sizeof name, "link%u.active", link);
    *out = (unsigned)of(device, name, 1);
    return OK;
}
int nvmlDeviceGetNvLinkErrorCounter(device_t *device, unsigned link, unsigned counter, unsigned long long *out) {
    static const char *names[] = {"replay", "recovery", "crc"};
    char name[60];
    ASKED(device, out);
    if (link >= LINKS || counter > 2 || told("family", 4) == 5) return NOT_SUPPORTED;
    snprintf(name, sizeof name, "link%u.%s", link, names[counter]);
    *out = (unsigned long long)of(device, name, 0);
    return OK;
}

typedef struct {
    unsigned version;
    uint8_t cluster[16];
    unsigned status;
    uint32_t clique;
    uint8_t state;
    uint32_t health;
} fabric_t;
int nvmlDeviceGetGpuFabricInfoV(device_t *device, fabric_t *out) {
    ASKED(device, out);
    if (out->version != 0x02000024) return WRONG_VERSION;
    out->status = (unsigned)of(device, "fabric_status", 0);
    out->state = (uint8_t)of(device, "fabric_state", 3);
    return OK;
}

typedef struct { unsigned long long total, available, used; } memory_t;
int nvmlDeviceGetMemoryInfo(device_t *device, memory_t *out) {
    ASKED(device, out);
    out->total = 80ULL << 30;
    out->used = (unsigned long long)of(device, "mem_used_mib", 4) << 20;
    out->available = out->total - out->used;
    return OK;
}
typedef struct { unsigned pid; unsigned long long used; unsigned instance, compute; } process_t;
int nvmlDeviceGetComputeRunningProcesses_v3(device_t *device, unsigned *count, process_t *out) {
    ASKED(device, count);
    unsigned pid = (unsigned)of(device, "process", 0);
    unsigned room = *count;
    *count = pid ? 1 : 0;
    if (!pid) return OK;
    if (!out || room < 1) return TOO_SMALL;
    out[0] = (process_t){.pid = pid, .used = (unsigned long long)of(device, "process_mib", 1024) << 20};
    return OK;
}

int nvmlDeviceGetCurrPcieLinkWidth(device_t *device, unsigned *out) {
    ASKED(device, out);
    *out = (unsigned)of(device, "pcie_width", 16);
    return OK;
}
int nvmlDeviceGetPcieReplayCounter(device_t *device, unsigned *out) {
    ASKED(device, out);
    *out = (unsigned)of(device, "pcie_replay", 0);
    return OK;
}
int nvmlDeviceGetTemperatureThreshold(device_t *device, int kind, unsigned *out) {
    ASKED(device, out);
    if (kind == 1) *out = (unsigned)of(device, "temp_limit_c", 92);
    else if (kind == 2) *out = 95;
    else return NOT_SUPPORTED;
    return OK;
}
int nvmlDeviceGetCurrentClocksEventReasons(device_t *device, unsigned long long *out) {
    ASKED(device, out);
    *out = (unsigned long long)of(device, "clocks", 1);
    return OK;
}
int nvmlDeviceGetTemperature(device_t *device, int sensor, unsigned *out) {
    ASKED(device, out);
    if (sensor) return NOT_SUPPORTED;
    *out = 45;
    return OK;
}
