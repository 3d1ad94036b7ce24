#!/bin/bash
# For a boot whose kernel log is all that is wanted.
