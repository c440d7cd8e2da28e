#!/bin/bash
#SBATCH --job-name=qwen3-32b-h100-1p1d
#SBATCH --output=/shared/outputs/RUN/job.log
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --segment=1
#SBATCH --account=ml
#SBATCH --partition=h100
#SBATCH --time=1:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --exclusive
#SBATCH --no-requeue

umask 077
cd /shared/outputs/RUN || exit 1
exec /opt/inferlane/bin/python -P -m inferlane.slurm.job /shared/outputs/RUN
