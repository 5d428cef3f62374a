"""Which GPU holds the job, and what the job costs there."""
