#!/usr/bin/env node
// Old syntax on purpose: this file must run on any old Node, to print that the Node is too old.
'use strict';
// better-sqlite3 needs Node-API 10, which came with Node 22.14 and 23.6. With less, it crashes without a message.
var tooOld = !(+process.versions.napi >= 10);
var needs = 'squad: needs Node 22.14 or newer, and this is Node ' + process.versions.node + '.';
if (process.platform === 'win32') {
  console.error('squad: Squad runs on Linux and macOS. On Windows, use it inside WSL (https://aka.ms/wsl).');
  process.exit(1);
} else if (tooOld) {
  console.error(needs + ' Install Node 24 (https://nodejs.org) and try again.');
  process.exit(1);
} else if (process.argv.length === 2) {
  // `squad` alone, which people type often: a small program.
  require('../dist/overview.cjs');
} else if (process.argv[2] === 'mcp' && !/^(?!serve$)[^-]/.test(process.argv[3] || '')) {
  // `squad mcp` without a subcommand. A client waits for it to start, so only the relay is loaded.
  require('../dist/relay.cjs');
} else if (
  process.argv.length < 4 &&
  /^(help|--help|-h|--version|-V)$/.test(process.argv[2]) &&
  !(process.stdout.columns < 80)
) {
  // The saved help is 80 columns wide.
  require('../dist/help.cjs');
} else if (process.argv[2] === 'acp') {
  require('../dist/acp.cjs');
} else if (process.argv[2] === 'agent') {
  require('../dist/agent.cjs');
} else {
  require('../dist/cli.cjs');
}
