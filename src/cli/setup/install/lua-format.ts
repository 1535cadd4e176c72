import { SquadError } from '../../../schema/error.ts';
import type { Entry, EntryValue } from './clients.ts';
import type { ConfigFormat } from './config-format.ts';

const MARK =
  '-- Squad as an agent. Written by `squad install neovim`; `squad install neovim --undo` removes it.';

/**
 * A file of plugin specifications for lazy.nvim. Lua is code and cannot be edited like data, so the whole file is
 * Squad's. `optional` adds to plugins that the user has, and installs none.
 */
export const luaFormat: ConfigFormat = {
  put(text, _path, entry) {
    if (text.trim() !== '' && !isOurs(text))
      throw new SquadError('CONFIG_INVALID', 'line 1: the file is not from `squad install`', {
        suggestions: ['Move it away, then run the command again. Nothing was written.'],
      });
    return specification(entry);
  },
  remove: text => (isOurs(text) ? '' : text),
  fields: (text, path) => (isOurs(text) ? (path.length === 1 ? [] : ['command', 'args']) : null),
};

const isOurs = (text: string): boolean => text.startsWith(MARK);

function specification({ command, args, env }: Entry): string {
  const words = [command as string, ...(args as string[])];
  const variables = env === undefined ? '' : `, env = ${lua(env)}`;
  return `${MARK}
return {
  {
    "yetone/avante.nvim",
    optional = true,
    opts = {
      acp_providers = { squad = { command = ${lua(command!)}, args = ${lua(args!)}${variables} } },
    },
  },
  {
    "olimorris/codecompanion.nvim",
    optional = true,
    opts = {
      adapters = {
        acp = {
          squad = function()
            return require("codecompanion.adapters").extend("opencode", {
              name = "squad",
              formatted_name = "Squad",
              commands = { default = ${lua(words)} }${variables},
            })
          end,
        },
      },
    },
  },
}
`;
}

/** A value as a Lua expression. */
function lua(value: EntryValue): string {
  if (Array.isArray(value)) return `{ ${value.map(lua).join(', ')} }`;
  if (typeof value === 'object')
    return `{ ${Object.entries(value)
      .map(([name, each]) => `[${lua(name)}] = ${lua(each)}`)
      .join(', ')} }`;
  if (typeof value !== 'string') return String(value);
  // Lua has the decimal escapes of bytes instead of those of JSON.
  const escaped = [...value.replace(/["\\]/g, '\\$&')].map(char =>
    char < ' ' ? `\\${String(char.charCodeAt(0)).padStart(3, '0')}` : char,
  );
  return `"${escaped.join('')}"`;
}
