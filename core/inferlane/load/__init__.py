"""The load client: ``python -m inferlane.load --spec FILE``. Only ever a process of its own."""
