#!/bin/bash
# Run as the batch script of a job of four nodes: once for its environment, once more in that of an attempt on three.
# Each case writes what its ranks said to out/<case>, one line a rank: the node, or the node and its GPU.
cd "$SLURM_SUBMIT_DIR" || exit 1

if [ -z "${SUPERVISE_ATTEMPT-}" ]; then
	env -0 >environ.new && mv environ.new environ
	until [ -e changes ]; do sleep 0.05; done
	mapfile -d '' -t words <changes
	exec env "${words[@]}" /bin/bash "$SLURM_SUBMIT_DIR/cases.sh"
fi

mkdir out
where='echo $SLURMD_NODENAME'
case_() {
	name=$1
	shift
	timeout 60 "$@" >"out/$name.new" 2>"out/$name.err" </dev/null
	echo "exit $?" >>"out/$name.new"
	mv "out/$name.new" "out/$name"
}

case_ plain bash -c "srun sh -c '$where'"
printf '#!/bin/sh\n%s\n' "$where" >where.sh
chmod +x where.sh
printf '0 ./where.sh\n1-5 ./where.sh\n' >multi
case_ multi_prog srun -n6 --multi-prog multi
case_ python_subprocess python3 -c "import subprocess; subprocess.run(['srun', '-n6', 'sh', '-c', '$where'], check=True)"
case_ absolute_path /usr/bin/srun sh -c "$where"
printf '#!/bin/bash -l\ntype -t srun\ntype -P srun\nsrun sh -c '"'%s'"'\n' "$where" >login.sh
chmod +x login.sh
case_ login_shell ./login.sh
case_ module_on_path bash -c "PATH=/usr/bin:\$PATH; hash -r; srun sh -c '$where'"
case_ environment bash -c 'scontrol show hostnames; echo $SLURM_NNODES $SLURM_NTASKS $SLURM_TASKS_PER_NODE $SLURM_GPUS'
cat >parallel.sh <<'END'
# A request per node of the job would win over --gpus, without us too.
gpu=--gpus${SLURM_GPUS_PER_NODE:+-per-node}=1
for rank in 1 2 3 4 5 6 7 8; do
	srun --exact -n1 -N1 -c1 $gpu sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES; sleep 3' &
done
wait
END
case_ parallel_exact bash parallel.sh
if [ -z "${SLURM_GPUS-}" ]; then
	# With all GPUs asked for at once Slurm itself refuses steps on fewer nodes.
	case_ one_task bash -c "srun -n1 sh -c '$where'; srun -n1 -N1 sh -c '$where'"
	case_ one_node srun -N1 -n2 sh -c "$where"
	case_ two_nodes srun -N2 -n2 sh -c "$where"
	case_ own_exclude srun -N2 -n2 -x node002 sh -c "$where"
	case_ own_nodelist srun -w node003 -n1 sh -c "$where"
	case_ pty python3 -c "import pty, sys; sys.exit(pty.spawn(['srun', '--pty', '-n1', '-N1', 'sh', '-c', 'tty; $where']) >> 8)"
	case_ openmpi mpirun.openmpi --oversubscribe hostname
	case_ hydra mpiexec.hydra -bootstrap slurm -n 6 hostname
fi
touch finished
