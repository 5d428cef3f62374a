"""`python -m gpufare`."""

from gpufare.cli import main

if __name__ == "__main__":
    main()
