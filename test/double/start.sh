#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Starts the double as its child, which hears nothing of the signals that this
# shell gets: as the first process of a container it ignores them.
/double -save-takes "${SAVE_TAKES:-0s}"
exit $?
