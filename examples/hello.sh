#!/bin/sh
# A script of one's own: `jim run examples/hello.sh grid` sends it along.
echo "hello, $1, from $(uname -n)"
