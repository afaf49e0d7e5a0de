#!/bin/sh
# Stands in Envoy's place: writes its process id, then does what the test says.
echo $$ > "$FAKE_ENVOY_PID"
eval "$FAKE_ENVOY_SCRIPT"
