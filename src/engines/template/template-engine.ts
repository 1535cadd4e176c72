import { type Engine, type RunEndpoint, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import type { findExecutable } from '../../process/programs/find-executable.ts';
import { programFolders } from '../../process/programs/program-folders.ts';
import { SquadError } from '../../schema/error.ts';
import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { type RenderedCommand, renderCommand } from './render.ts';
import type { TemplateValues } from './variables.ts';

export interface TemplateEngineOptions {
  id: string;
  runTemplate: string;
  createChatTemplate: string | null;
  /** Value of the variable `engine`. */
  engineCommand: string;
  /** Reader for programs that print events in a known format. */
  reader: Engine['reader'];
  findExecutable: typeof findExecutable;
}

/**
 * An engine for any program, started by the user's template. Without a reader the output is plain text, and the exit
 * code decides about success.
 */
export function createTemplateEngine(options: TemplateEngineOptions): Engine {
  const { runTemplate, createChatTemplate, engineCommand } = options;
  const prepare = (which: string, template: string, input: TurnInput) => {
    const rendered = renderCommand(template, valuesOf(input, engineCommand));
    const program = locateProgram(which, rendered.argv[0], input, options.findExecutable);
    return { rendered, argv: [program, ...rendered.argv.slice(1)] as Command['argv'] };
  };
  return {
    id: options.id,
    reader: options.reader,
    interactive: null,
    policy: templatePolicy,
    loadsItself: [],
    wantsEndpoint: /\bmcpConfigFile\b/.test(runTemplate),
    // Only the user knows which variables the program needs, and lists them under `env` in the role.
    needsVariable: () => false,
    takesSchema: false,
    usageIsReported: options.reader ? 'at_end' : 'never',
    sandbox: ({ env, cwd }) => ({
      programs: programsIn([runTemplate, createChatTemplate ?? ''], engineCommand, { env, cwd }, options),
      ...{ login: [], drops: [], writes: [], hosts: [] },
    }),
    sandboxLimit: {
      kind: 'on_request',
      reason: 'Squad does not know which files the command of a template needs',
    },
    async command(input) {
      const { rendered, argv } = prepare('run template', runTemplate, input);
      if (input.endpoint && rendered.uses.has('mcpConfigFile'))
        await input.files.write(MCP_CONFIG, mcpConfig(input.endpoint));
      return { argv, stdin: hasPrompt(rendered) ? null : input.promptFile, env: input.env };
    },
    newChat:
      createChatTemplate === null
        ? null
        : {
            kind: 'command',
            async command(input) {
              const { argv } = prepare('create-chat template', createChatTemplate, {
                ...input,
                chatId: null,
              });
              return { argv, stdin: null, env: input.env };
            },
          },
  };
}

/**
 * Folders of all programs on the command line. There may be several, because a template may start the agent through
 * another program such as `nice`.
 */
function programsIn(
  templates: readonly string[],
  engineCommand: string,
  { env, cwd }: Pick<TurnInput, 'env' | 'cwd'>,
  { findExecutable: find }: Pick<TemplateEngineOptions, 'findExecutable'>,
): string[] {
  const words = [...templates, engineCommand].flatMap(text => text.split(/\s+/)).filter(Boolean);
  return [...new Set(words)].flatMap(word => {
    const found = find(word, { path: env.PATH || '/nonexistent', cwd });
    return found.status === 'found' ? programFolders(found.path, env) : [];
  });
}

/** The template is the user's own command, so Squad cannot restrict it. */
export function templatePolicy({ permission, tools }: RunOptions): PolicyRule[] {
  const note = 'the template decides what its program may do';
  return [
    ...(permission === 'read' ? [{ rule: 'permission: read', heldBy: 'advisory' as const, note }] : []),
    ...(tools === null ? [] : [{ rule: `tools: ${tools.join(', ')}`, heldBy: 'advisory' as const, note }]),
  ];
}

/**
 * Whether the template already passes the prompt. Some programs read standard input as a second prompt, so they get
 * the prompt there only if the template does not pass it.
 */
function hasPrompt({ uses }: RenderedCommand): boolean {
  return uses.has('prompt') || uses.has('task') || uses.has('promptFile');
}

const MCP_CONFIG = 'mcp.json';

/**
 * MCP configuration in the format that most clients read. The token is only in this file, which only the user can
 * read, and in no argument.
 */
const mcpConfig = ({ url, token }: RunEndpoint): string =>
  JSON.stringify({
    mcpServers: { [SQUAD_SERVER]: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } } },
  });

function valuesOf(input: TurnInput, engineCommand: string): TemplateValues {
  return {
    prompt: input.prompt,
    chatId: input.chatId ?? '',
    cwd: input.cwd,
    task: input.task,
    roleId: input.roleId,
    engine: engineCommand,
    model: input.model ?? '',
    promptFile: input.promptFile,
    mcpConfigFile: input.endpoint ? input.files.path(MCP_CONFIG) : '',
  };
}

/** Finds a program of the user's configuration. `which` says where it is configured. */
export function locateProgram(
  which: string,
  name: string,
  input: TurnInput,
  find: typeof findExecutable,
): string {
  // On another machine the program is searched for at the start of the turn.
  if (input.options.machine !== null) return name;
  const path = input.env.PATH ?? '';
  const isPath = name.includes('/');
  // With an empty PATH the system searches the current folder, where a repository could place a fake agent.
  const found = path || isPath ? find(name, { path, cwd: input.cwd }) : ({ status: 'not_found' } as const);
  if (found.status === 'found') return found.path;
  if (found.status === 'not_executable')
    throw new SquadError(
      'ENGINE_NOT_EXECUTABLE',
      `The program of the ${which} cannot be run: ${found.path}.`,
      {
        suggestions: ['Make it executable (chmod +x), or name another program in the template.'],
      },
    );
  throw new SquadError('ENGINE_NOT_FOUND', `The program "${name}" of the ${which} was not found.`, {
    suggestions: isPath
      ? [`Check the path; it is relative to ${input.cwd}.`]
      : [
          `Install ${name}, or write its full path in the configuration.`,
          path
            ? `Squad searched the PATH that the client passed on: ${path}`
            : 'The client passed no PATH to Squad. Run `squad install CLIENT` in a terminal: it records the PATH of that terminal.',
        ],
  });
}
