#!/usr/bin/env python3
"""Starts a replica of a PostgreSQL server that with_postgres.py has started, which also ends it.

    follow_postgres.py DIRECTORY PORT NAME

DIRECTORY is the server's, PORT its own; the replica's files will be below DIRECTORY/NAME. Prints the
replica's port when it is up."""

import sys

from with_postgres import Server


def main():
    directory, port, name = sys.argv[1:]
    replica = Server(directory, data=name)
    replica.follow(port)
    replica.start()
    print(replica.port)


if __name__ == "__main__":
    main()
