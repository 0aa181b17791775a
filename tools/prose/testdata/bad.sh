#!/usr/bin/env bash
# Starts whoever is
# not there anew.
echo anew # once more
