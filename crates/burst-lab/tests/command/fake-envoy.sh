#!/bin/sh
# Stands in Envoy's place: writes its process id, then does what the test says. Whoever reads the id may send a SIGTERM.
trap "$FAKE_ENVOY_ON_TERM" TERM
echo $$ > "$FAKE_ENVOY_PID"
eval "$FAKE_ENVOY_SCRIPT"
