"""`python -m gpufare`."""

from gpufare.cli import run

if __name__ == "__main__":
    run()
