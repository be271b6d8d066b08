() {
	local _sv_shim=@SHIM@ _sv_pid= _sv_code=0 _sv_signal _sv_traps
	[ -x "$_sv_shim" ] || _sv_shim=$SUPERVISE_SHIM_SRUN
	if [ "${BASHPID-$$}" = "$$" ]; then
		"$_sv_shim" "$@"
		return
	fi
	_sv_traps=$(trap -p HUP INT QUIT USR1 USR2 TERM)
	for _sv_signal in HUP INT QUIT USR1 USR2 TERM; do
		trap "[ -z \"\$_sv_pid\" ] || kill -s $_sv_signal \"\$_sv_pid\" 2>/dev/null" "$_sv_signal"
	done
	"$_sv_shim" "$@" <&0 &
	_sv_pid=$!
	while kill -0 "$_sv_pid" 2>/dev/null; do
		wait "$_sv_pid" || :
	done
	wait "$_sv_pid" || _sv_code=$?
	trap - HUP INT QUIT USR1 USR2 TERM
	eval "$_sv_traps"
	return "$_sv_code"
}
