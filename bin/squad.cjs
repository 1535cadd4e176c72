#!/usr/bin/env node
// Old syntax on purpose: this file must run, and speak, on any Node there is.
'use strict';
var version = process.versions.node.split('.');
var tooOld = +version[0] < 22 || (+version[0] === 22 && +version[1] < 13);
if (process.platform === 'win32') {
  console.error('squad: Squad runs on Linux and macOS. On Windows, use it inside WSL (https://aka.ms/wsl).');
  process.exit(1);
} else if (tooOld) {
  console.error('squad: needs Node 22.13 or newer, and this is Node ' + process.versions.node + '. Install one (https://nodejs.org) and try again.');
  process.exit(1);
} else if (process.argv[2] === 'mcp' && (process.argv.length === 3 || process.argv[3].slice(0, 2) === '--')) {
  // A client waits for this one: it loads the relay and nothing else.
  require('../dist/relay.cjs');
} else {
  require('../dist/cli.cjs');
}
