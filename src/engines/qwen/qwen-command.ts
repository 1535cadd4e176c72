import { type Command, type RunEndpoint, SQUAD_SERVER, type TurnInput } from '../../core/ports.ts';
import { oneArgument, partOfArgument } from '../one-argument.ts';
import { qwenPermissions } from './qwen-permissions.ts';

/** The prompt comes on standard input. */
export async function qwenCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { options, endpoint, model } = input;
  const argv: Command['argv'] = [program, '--output-format=stream-json', ...qwenPermissions(options)];
  // Only this server, of all that are configured, is started: what an agent can reach is Squad's decision.
  argv.push(`--allowed-mcp-server-names=${SQUAD_SERVER}`);
  if (endpoint) argv.push(`--mcp-config=${await input.files.write('mcp.json', mcpConfig(endpoint))}`);
  if (model !== null) argv.push(`--model=${partOfArgument('model', model)}`);
  if (options.outputSchema)
    argv.push(
      `--json-schema=@${await input.files.write('schema.json', JSON.stringify(options.outputSchema))}`,
    );
  if (input.chatId !== null)
    argv.push(`--${input.continues ? 'resume' : 'session-id'}=${oneArgument('chat id', input.chatId)}`);
  return { argv, stdin: input.promptFile, env: { ...input.env, ...QUIET } };
}

const QUIET = {
  QWEN_USAGE_STATISTICS_ENABLED: 'false',
  QWEN_TELEMETRY_ENABLED: 'false',
  // One process instead of two, and a second less to the first request.
  QWEN_CODE_NO_RELAUNCH: '1',
};

/** Its HTTP client was never tried with a token; the relay is a program like any other. */
const mcpConfig = ({ relay }: RunEndpoint): string =>
  JSON.stringify({ mcpServers: { [SQUAD_SERVER]: { ...relay, trust: true } } });
