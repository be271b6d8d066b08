#!/bin/bash
# The same on one machine, without Slurm: local.sh RANKS [options of train.py]
# Ends when all ranks have ended, with the first failed rank's exit code; a TERM is passed on to them.
ranks=$1
shift
export WORLD_SIZE=$ranks OPENBLAS_NUM_THREADS=1
pids=()
for ((rank = 0; rank < ranks; rank++)); do
    RANK=$rank "${PYTHON:-python3}" "$(dirname "$0")/train.py" "$@" &
    pids+=($!)
done
trap 'kill "${pids[@]}" 2>/dev/null' TERM INT
code=0
for pid in "${pids[@]}"; do
    wait "$pid"
    ended=$?
    while ((ended > 128)) && kill -0 "$pid" 2>/dev/null; do  # a trapped signal ends `wait` early
        wait "$pid"
        ended=$?
    done
    ((code != 0)) || code=$ended
done
exit "$code"
