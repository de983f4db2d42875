#!/usr/bin/env python3
import os
import sys

from django.core.management import execute_from_command_line

from benchhub import clone

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchhub.settings")
    if note := clone.use_demonstration():
        print(note, file=sys.stderr)
    execute_from_command_line(sys.argv)
