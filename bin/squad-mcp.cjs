#!/usr/bin/env node
// Old syntax, like squad.cjs. `squad-mcp` needs its own file: behind the shims of package managers, a program cannot see by which name it was called.
'use strict';
// Without arguments and a terminal an MCP client started it: configurations often hold nothing but the name of a package.
// biome-ignore lint/style/useNodejsImportProtocol: a Node that is too old to know `node:` must get as far as the message in squad.cjs.
if (process.argv.length === 2 && !require('tty').isatty(0)) process.argv.push('mcp');
require('./squad.cjs');
