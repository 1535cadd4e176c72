import { visibleLine, visibleText } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { confirmWithUser } from '../arguments.ts';
import { type CliContext, hiddenWarningLines, print, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDateTime } from '../terminal/duration.ts';
import type { Style } from '../terminal/style.ts';
import { type Gateway, inspectedGateway } from './mcp-status.ts';

type Approved = Output<'approve_tools'>;
type Pending = Gateway['pending'][number];

/**
 * `squad mcp approve [SERVER[/TOOL]]`: shows and approves tools that were added or changed since the first list, and restrictions
 * that name a tool, server or role that does not exist.
 */
export async function mcpApprove(
  given: string | undefined,
  { yes }: { yes?: boolean },
  context: CliContext,
): Promise<number> {
  const what = wanted(given);
  const { pending } = await inspectedGateway(context);
  const waiting = pending.filter(
    ({ server, tool }) => (what.server ?? server) === server && (what.tool ?? tool) === tool,
  );
  if (waiting.length === 0) {
    // An approval without hashes approves nothing, but throws if there is no such server or tool.
    if (given !== undefined) await approve({ ...what, hashes: [] }, context);
    const where = given === undefined ? '' : ` of ${visibleLine(given)}`;
    return printResult(context, { approved: [], unseen: [] }, () => [`Nothing${where} is pending.`]);
  }
  if (!context.json)
    print(
      context,
      waiting.flatMap(change => described(change, context)),
    );
  const question = questionOn(waiting);
  const answer =
    yes || (await confirmWithUser(question, 'Read the changes, then run: squad mcp approve --yes', context));
  if (!answer) {
    print(context, ['Nothing was approved.']);
    return EXIT.done;
  }
  const hashes = waiting.map(({ hash }) => hash);
  const { approved, unseen } = await approve({ ...what, hashes }, context);
  const lines = () => [
    ...approved.map(change => `approved  ${nameOf(change)}`),
    ...unseen.map(change => context.style.yellow(`changed meanwhile, still pending  ${nameOf(change)}`)),
  ];
  return printResult(context, { approved, unseen }, lines, unseen.length > 0 ? EXIT.failed : EXIT.done);
}

function questionOn(waiting: readonly Pending[]): string {
  const [first, ...more] = waiting;
  if (first && waiting.every(({ kind, server }) => kind === 'unmatched' && server === first.server))
    return `Keep ${more.length === 0 ? 'it' : 'them'} as written, and show the other tools of ${first.server}?`;
  if (waiting.every(({ kind }) => kind === 'dangling'))
    return `Keep ${more.length === 0 ? 'it' : 'them'} as written, and show the tools that are hidden because of it?`;
  return more.length === 0 ? 'Let agents use it?' : `Approve these ${waiting.length}?`;
}

async function approve(what: object, { workspace }: CliContext): Promise<Approved> {
  return HubClient.ask({ workspace }, 'approve_tools', { ...what });
}

/** The name of a tool may contain slashes, the name of a server cannot. */
function wanted(given: string | undefined): { server?: string; tool?: string } {
  if (given === undefined) return {};
  const at = given.indexOf('/');
  return at < 0 ? { server: given } : { server: given.slice(0, at), tool: given.slice(at + 1) };
}

const KIND_TEXTS: Record<Pending['kind'], string> = {
  new: 'is new',
  changed: 'has changed',
  unmatched: 'matches no tool of the server, so all its tools are hidden',
  dangling: 'names a server or role that does not exist',
};

function described(change: Pending, context: CliContext): string[] {
  const text = KIND_TEXTS[change.kind];
  const { style } = context;
  return [
    style.bold(`${nameOf(change)} ${text}`) +
      (change.kind === 'unmatched' || change.kind === 'dangling'
        ? ''
        : style.dim(`, seen ${formatDateTime(change.seenAt)}`)),
    ...change.diff.map(line => coloured(line, style)),
    ...hiddenWarningLines(change.diff.join('\n'), nameOf(change), context),
    '',
  ];
}

function coloured(line: string, style: Style): string {
  // The first character is the diff mark. The rest is text from the server and must stay on one line.
  const rest = line.slice(1);
  const text = `${line.slice(0, 1)}${visibleText(rest).replaceAll('\n', '␊')}`;
  return line.startsWith('+') ? style.green(text) : line.startsWith('-') ? style.red(text) : text;
}

const nameOf = ({ server, tool }: Pending): string => `${server}/${visibleLine(tool)}`;
