#!/usr/bin/env node
// Old syntax on purpose: this file must run, and speak, on any Node there is.
'use strict';
var version = process.versions.node.split('.');
var tooOld = +version[0] < 22 || (+version[0] === 22 && +version[1] < 13);
var needs = 'squad: needs Node 22.13 or newer, and this is Node ' + process.versions.node + '.';
if (process.platform === 'win32') {
  console.error('squad: Squad runs on Linux and macOS. On Windows, use it inside WSL (https://aka.ms/wsl).');
  process.exit(1);
} else if (tooOld) {
  console.error(needs + ' Install one (https://nodejs.org) and try again.');
  process.exit(1);
} else if (process.argv.length === 2) {
  // `squad` alone, which people type often: a small program.
  require('../dist/overview.cjs');
} else if (process.argv[2] === 'mcp' && !/^(?!serve$)[^-]/.test(process.argv[3] || '')) {
  // With another word it is a command. A client waits for this one: it loads the relay and nothing else.
  require('../dist/relay.cjs');
} else if (
  process.argv.length < 4 &&
  /^(help|--help|-h|--version|-V)$/.test(process.argv[2]) &&
  !(process.stdout.columns < 80)
) {
  // The saved help is 80 columns wide.
  require('../dist/help.cjs');
} else if (process.argv[2] === 'agent') {
  require('../dist/agent.cjs');
} else {
  require('../dist/cli.cjs');
}
