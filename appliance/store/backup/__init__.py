"""Backups of a home: made while it is in use, incremental, checked, restored into a new home.

A *repository* is a folder, or a file with the same entries, that holds one or more backups:

    repository.json        the format, an id, the recipients if it is encrypted
    packs/ID-N             compressed blocks of 1,024 bytes, with a digest of each (``packs``)
    key                    the key of a repository with a passphrase (``encryption``)
    backups/ID             the manifest of one backup: its files, and in which packs their blocks lie (``manifest``)

A pack is written once and never changed. A manifest is written last: without one, a backup does not exist. The files
of a home are compared with the previous backup, block by block, and only new blocks are stored.

    snapshot      the files of a home as they are at one moment
    storage       the entries of a repository, in a folder or in a file
    packs         blocks in and out of packs
    encryption    packs and manifests encrypted with age
    manifest      what a backup consists of
    repository    a repository: its backups, opened to read or to write
    previous      the backup with which the next one is compared
    making        home → snapshot → packs → manifest
    retention     which backups are kept, and what goes with the others
    restoring     manifest → packs → new home
    catalogue     where backups of a home were made
    checking      whether all of it is there and undamaged
"""
