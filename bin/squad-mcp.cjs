#!/usr/bin/env node
// Old syntax, like squad.cjs. This name has a file of its own, because shims of package managers hide which name was typed.
'use strict';
// Without arguments and a terminal an MCP client started it: configurations often hold nothing but the name of a package.
// biome-ignore lint/style/useNodejsImportProtocol: a Node that is too old to know `node:` must get as far as the message in squad.cjs.
if (process.argv.length === 2 && !require('tty').isatty(0)) process.argv.push('mcp');
require('./squad.cjs');
