import type { Generated } from 'kysely';
import { z } from 'zod';
import type { Pin, PinKey, PinState } from '../core/ports/gateway.ts';
import type { SentLine } from '../core/ports/store.ts';
import type { TraceRole } from '../schema/conversation.ts';
import { type Event, EventBody, type NewEvent } from '../schema/event.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import { InboxItem } from '../schema/inbox.ts';
import { type Intent, Review } from '../schema/review.ts';
import { Chat, Run, type RunStatus, Squad, Turn } from '../schema/run.ts';

/** JSON text that is checked against its schema whenever it is read. */
type Json = string;
export interface MessageRow {
  id: string;
  run_id: RunId;
  turn: number;
  position: number;
  parent_id: string | null;
  label: string;
  role: TraceRole;
  content: Json;
  at: number;
}

export interface ConversationRow {
  run_id: RunId;
  label: string;
  subagent: string | null;
  started_at: number;
  is_closed: 0 | 1;
}

interface SentLineRow {
  run_id: RunId;
  turn: number;
  offset: number;
  line: string;
  at: number;
}

export interface IntentRow {
  id: string;
  kind: Intent['kind'];
  at: number;
  /** JSON of the other fields of the intent. */
  data: Json;
}

interface ReviewLimitRow {
  lineage_id: RunId;
  review_limit: number;
}

export interface EventRow {
  seq: number;
  at: number;
  run_id: RunId | null;
  squad_id: SquadId | null;
  type: EventBody['type'];
  /** JSON of the other fields of the event body. */
  data: Json;
}

export type NewEventRow = Omit<EventRow, 'seq'>;

interface SettingRow {
  key: string;
  value: string;
}

interface ListedServerRow {
  workspace: string;
  server: string;
  source: string;
}

export interface PinRow extends ListedServerRow {
  name: string;
  state: PinState;
  hash: string;
  definition: Json;
  seen_at: number;
}

/** Number of runs; triggers keep it up to date. */
interface RunCountRow {
  workspace: string;
  status: RunStatus;
  runs: number;
}

/**
 * Cost of the runs that were created within one quarter of an hour (numbered from 1970); triggers keep it up to date.
 */
interface SpendingRow {
  quarter: number;
  is_ended: 0 | 1;
  runs: number;
  cost_usd: number;
  /** Number of runs with a cost, of those with an estimated cost, and of started runs without a cost. */
  reported: number;
  estimated: number;
  unreported: number;
}

/** Only in PostgreSQL: a request of another hub to stop a run. */
interface StopRequestRow {
  run_id: RunId;
  asked_by: string;
  at: number;
}

/** Only in PostgreSQL: the final answer of a run. */
interface AnswerRow {
  run_id: RunId;
  answer: string;
}

/** Only in PostgreSQL: what the running turns of a hub have cost so far. */
interface RunningCostRow {
  hub: string;
  cost_usd: number;
  at: number;
}

interface MigrationRow {
  name: string;
  applied_at: number;
  /** Version of Squad that applied the migration. */
  version: string;
}

export interface Tables {
  squads: SquadRow;
  runs: RunRow;
  turns: TurnRow;
  chats: ChatRow;
  reviews: ReviewRow;
  inbox: InboxRow;
  messages: MessageRow;
  conversations: ConversationRow;
  sent_lines: SentLineRow;
  intents: IntentRow;
  review_limits: ReviewLimitRow;
  events: NewEventRow & { seq: Generated<number> };
  settings: SettingRow;
  listed_servers: ListedServerRow;
  tool_pins: PinRow;
  run_counts: RunCountRow;
  spending: SpendingRow;
  stop_requests: StopRequestRow;
  answers: AnswerRow;
  running_costs: RunningCostRow;
  migrations: MigrationRow;
}

type SnakeCase<Text extends string> = Text extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Text;

/**
 * A record as a row: snake_case columns, JSON as text, booleans as 0 and 1, and null where an optional field is absent.
 */
type RowOf<Entity, JsonField, FlagField> = {
  [Field in keyof Entity & string as SnakeCase<Field>]-?: Field extends JsonField
    ? string | Extract<Entity[Field], null>
    : Field extends FlagField
      ? 0 | 1
      : undefined extends Entity[Field]
        ? Exclude<Entity[Field], undefined> | null
        : Entity[Field];
};

interface CodecOptions<JsonField, FlagField> {
  /** Fields stored as JSON. Every read checks them against their schema. */
  json?: readonly JsonField[];
  flags?: readonly FlagField[];
  /** How an error message names the row. */
  nameOf?(row: Record<string, unknown>): string;
}

/** Converts records of a schema to rows and back. */
function rowCodec<
  Schema extends z.ZodObject,
  const JsonField extends keyof z.infer<Schema> & string = never,
  const FlagField extends keyof z.infer<Schema> & string = never,
>({ shape }: Schema, options: CodecOptions<JsonField, FlagField>) {
  type Entity = z.infer<Schema>;
  type Row = RowOf<Entity, JsonField, FlagField>;
  const { json = [], flags = [], nameOf = ({ id }) => String(id) } = options;
  const fields = Object.keys(shape).map(name => ({
    name,
    column: name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
    schema: shape[name] as z.ZodType,
    isJson: (json as readonly string[]).includes(name),
    isFlag: (flags as readonly string[]).includes(name),
    isOptional: shape[name] instanceof z.ZodOptional,
  }));
  return {
    toRow(entity: Entity): Row {
      const row: Record<string, unknown> = {};
      for (const { name, column, isJson, isFlag, isOptional } of fields) {
        const value = entity[name];
        if (isJson) row[column] = value === null ? null : JSON.stringify(value);
        else if (isFlag) row[column] = value ? 1 : 0;
        else row[column] = isOptional ? (value ?? null) : value;
      }
      return row as Row;
    },
    toEntity(row: Row): Entity {
      const columns: Record<string, unknown> = row;
      const entity: Record<string, unknown> = {};
      for (const { name, column, schema, isJson, isFlag, isOptional } of fields) {
        const value = columns[column];
        if (isJson)
          entity[name] = fromJson(schema, value as string | null, `${column} of ${nameOf(columns)}`);
        else if (isFlag) entity[name] = value === 1;
        else if (!isOptional || value !== null) entity[name] = value;
      }
      return entity as Entity;
    },
  };
}

const squads = rowCodec(Squad, { json: ['metadata'] });
const runs = rowCodec(Run, {
  json: ['worktree', 'options', 'policy', 'error', 'usage', 'notes', 'evidence'],
  flags: ['outputIsEvents', 'chatIsNew', 'keepLeftovers'],
});
const turns = rowCodec(Turn, {
  json: ['leftovers'],
  nameOf: ({ number, run_id }) => `turn ${number} of ${run_id}`,
});
const chats = rowCodec(Chat, { json: ['totals'], nameOf: ({ id }) => `chat ${id}` });
const reviews = rowCodec(Review, { json: ['actionableItems'] });
const inboxItems = rowCodec(InboxItem.omit({ default: true }), { json: ['choices', 'fields', 'answeredBy'] });

export const { toRow: squadToRow, toEntity: rowToSquad } = squads;
export type SquadRow = ReturnType<typeof squadToRow>;

/** Columns that repeat values inside JSON, so that SQL can filter and sum by them. */
interface RunColumns {
  subagent: string | null;
  cost_usd: number | null;
  cost_is_estimated: 0 | 1 | null;
  input_tokens: number | null;
  output_tokens: number | null;
}

export type RunRow = ReturnType<typeof runs.toRow> & RunColumns;
export const runToRow = (run: Run): RunRow => ({
  ...runs.toRow(run),
  subagent: run.options.subagent,
  cost_usd: run.usage?.costUsd ?? null,
  cost_is_estimated: run.usage && (run.usage.costIsEstimated ? 1 : 0),
  input_tokens: run.usage?.input ?? null,
  output_tokens: run.usage?.output ?? null,
});
export const rowToRun: (row: RunRow) => Run = runs.toEntity;

export const { toRow: turnToRow, toEntity: rowToTurn } = turns;
export type TurnRow = ReturnType<typeof turnToRow>;

export const { toRow: chatToRow, toEntity: rowToChat } = chats;
export type ChatRow = ReturnType<typeof chatToRow>;

export const { toRow: reviewToRow, toEntity: rowToReview } = reviews;
export type ReviewRow = ReturnType<typeof reviewToRow>;

/** Row of an inbox item. Its column for `default` has another name, because that is a keyword of SQL. */
export type InboxRow = ReturnType<typeof inboxItems.toRow> & { default_answer: string | null };
export const itemToRow = (item: InboxItem): InboxRow => ({
  ...inboxItems.toRow(item),
  default_answer: item.default,
});
export const rowToItem = (row: InboxRow): InboxItem => ({
  ...inboxItems.toEntity(row),
  default: row.default_answer,
});

export const lineToRow = ({ runId, turn, offset, line, at }: SentLine): SentLineRow => ({
  ...{ run_id: runId, turn, offset },
  ...{ line, at },
});

export function eventToRow(event: NewEvent): NewEventRow {
  const { type, ...rest } = event.body;
  return { at: event.at, run_id: event.runId, squad_id: event.squadId, type, data: JSON.stringify(rest) };
}

export const rowToEvent = (row: EventRow): Event => ({
  seq: row.seq,
  at: row.at,
  runId: row.run_id,
  squadId: row.squad_id,
  body: fromJson(EventBody, row.data, `event ${row.seq}`, { type: row.type }),
});

export const pinToRow = ({ workspace, server, source }: PinKey, pin: Pin): PinRow => ({
  workspace,
  server,
  source,
  name: pin.name,
  state: pin.state,
  hash: pin.hash,
  definition: JSON.stringify(pin.definition),
  seen_at: pin.seenAt,
});

export const rowToPin = (row: PinRow): Pin => ({
  name: row.name,
  hash: row.hash,
  definition: fromJson(PinnedDefinition, row.definition, `pinned ${row.name} of ${row.server}`),
  state: row.state,
  seenAt: row.seen_at,
});

/** JSON in a row does not match its schema: another program wrote it, or the file is damaged. */
export class UnreadableRow extends Error {}

const PinnedDefinition = z.looseObject({ name: z.string() });

export function fromJson<T>(schema: z.ZodType<T>, text: string | null, what: string, extra?: object): T {
  // Fast path: most nullable columns are null, which needs no schema.
  if (text === null) return null as T;
  try {
    const value: unknown = JSON.parse(text);
    return schema.parse(extra ? { ...(value as object), ...extra } : value);
  } catch (cause) {
    throw new UnreadableRow(`the ${what} cannot be read`, { cause });
  }
}
