#!/bin/sh
# A fake Envoy: it writes its process id and then runs the script of the test. After that a test may send it SIGTERM.
trap "$FAKE_ENVOY_ON_TERM" TERM
echo $$ > "$FAKE_ENVOY_PID"
eval "$FAKE_ENVOY_SCRIPT"
