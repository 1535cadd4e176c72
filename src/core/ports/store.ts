import type { StoredMessage } from '../../schema/conversation.ts';
import type { Event, NewEvent } from '../../schema/event.ts';
import type { InboxId, ReviewId, RunId, SquadId } from '../../schema/ids.ts';
import type { InboxItem, InboxState } from '../../schema/inbox.ts';
import type { ClusterReport, HubFacts, HubReport } from '../../schema/machines/cluster.ts';
import type { Intent, Review } from '../../schema/review.ts';
import type { Chat, Run, Squad, Turn } from '../../schema/run.ts';
import type { RunSums } from '../cost/usage.ts';
import type { TurnRef } from './turns.ts';

/** Rows to insert or replace by key, and events to append: all or nothing. */
export interface Change {
  squads?: Squad[];
  runs?: Run[];
  turns?: Turn[];
  /** Chats to insert or update. An existing chat keeps its creation time, and its totals if none are given. */
  chats?: Chat[];
  reviews?: Review[];
  intents?: Intent[];
  /** Ids of intents that were carried out or undone. */
  intentsDone?: string[];
  /** Review rounds that a lineage may have, instead of those in the setting. With null the setting applies again. */
  reviewLimits?: { lineageId: RunId; limit: number | null }[];
  inbox?: InboxItem[];
  /** Lines for running agents, to be inserted. */
  lines?: SentLine[];
  /** Limits and chats that all hubs of the database share. The change is refused if new runs exceed a limit. */
  admission?: Admission;
  events: NewEvent[];
}

export interface Admission {
  /** Number of new runs. */
  starts: number;
  /** How many runs may start within a minute. */
  maxStarts: number;
  /** Chats that the new runs continue or begin. */
  chats: string[];
}

/**
 * A line for a running agent. The line is stored before it is written to the input file, so that the next hub can
 * complete an interrupted write.
 */
export interface SentLine {
  runId: RunId;
  turn: number;
  /** Byte offset of the line in the turn's input file. */
  offset: number;
  line: string;
  at: number;
}

export interface InboxFilter {
  runId?: RunId;
  state?: InboxState;
  /** True to select only closed items: answered, declined, expired or withdrawn. */
  isSettled?: boolean;
  /** Only items that this run has to answer. */
  owner?: RunId;
  idPrefix?: string;
  /** Hubs whose items to select (default: `own`). */
  hubs?: 'own' | 'other' | 'any';
  limit: number;
}

export interface RunFilter {
  workspace?: string;
  squadId?: SquadId;
  /** Only child runs of this run. */
  parentId?: RunId;
  status?: Run['status'][];
  lineageId?: RunId;
  /** Only runs of this hub with their own work tree. */
  hasWorktree?: true;
  /** Only runs created before this time. Used for paging. */
  before?: number;
  limit: number;
}

export interface ReviewFilter {
  lineageId?: RunId;
  coderId?: RunId;
  reviewerId?: RunId;
  workspace?: string;
  /** Only open reviews of this hub. */
  isOpen?: true;
  limit: number;
}

export interface EventFilter {
  after?: number;
  before?: number;
  runId?: RunId;
  squadId?: SquadId;
  types?: Event['body']['type'][];
  /** Only events of the runs and squads of this workspace, and of the hub. */
  workspace?: string;
  limit: number;
  /** True for newest first (default: oldest first). */
  reverse?: boolean;
}

export interface FiguresFilter {
  workspace?: string;
  squadId?: SquadId;
  since?: number;
  until?: number;
}

/** A hub that uses the same database as this one. */
export interface OtherHub {
  id: string;
  home: string;
  host: string;
  /** True while a process of the hub uses the database. */
  isRunning: boolean;
}

/**
 * Kind of a notification of other hubs: changed settings or requests to stop runs, requests and answers for this hub
 * (`HubCallRows`), and new events.
 */
export type Notice = 'changes' | 'calls' | 'events';

/** Requests of hubs to each other and their answers, as rows of the database that they share. Both are JSON. */
export interface HubCallRows {
  /** Removes what an earlier process of this hub requested or was working on. Call this once, at the start. */
  reset(): Promise<void>;
  send(call: { id: string; to: string; request: string }): Promise<void>;
  /** Takes the requests to this hub that nobody has taken. */
  take(): Promise<{ id: string; request: string }[]>;
  /** Which of these requests are still wanted. Also tells the other hubs that this one works on them. */
  stillWanted(ids: readonly string[]): Promise<Set<string>>;
  answer(id: string, answer: string): Promise<void>;
  /** Takes the answers to requests of this hub, oldest first for each request. */
  answers(): Promise<{ id: string; answer: string }[]>;
  /** `lost`: the other hub took the request and has stopped, or gives no sign any more. */
  states(ids: readonly string[]): Promise<Map<string, 'waiting' | 'taken' | 'lost'>>;
  /** Removes a request that nobody has taken. False if the other hub has taken it. */
  withdraw(id: string): Promise<boolean>;
  /** Removes a request. The other hub is notified if it has not answered it. */
  end(id: string, isAnswered: boolean): Promise<void>;
}

/** A hub of the database, as it reported itself last. Times are compared with the clock of the database. */
export interface HubState extends OtherHub {
  id: string;
  isOwn: boolean;
  /** Number of the process that used the database last for this home. A takeover counts as one. */
  attempt: number;
  /** Null for a hub that is older than heartbeats. */
  version: string | null;
  /** Milliseconds since its last heartbeat. Null if it has stopped and left no runs. */
  silentMs: number | null;
  /** How long after a heartbeat its agents may run. Null while they do not depend on heartbeats. */
  leaseMs: number | null;
  /** Milliseconds that the clock of its machine is ahead of the clock of the database. */
  clockAheadMs: number | null;
}

/** Leases of the hubs that share a database. */
export interface HubLeases {
  hubs(): Promise<HubState[]>;
  /** Records a heartbeat. False if another hub has taken over from this one, or a later hub of the home has started. */
  beat(leaseMs: number | null): Promise<boolean>;
  /**
   * Makes this hub the owner of runs of a hub that had no heartbeat for `silentMs`: with `all` every run that has not
   * ended, otherwise those whose agent was running. Runs on other machines stay. Null if the
   * other hub is not silent, another hub takes over, or its session has not ended yet. If there were runs, the other hub
   * cannot write any more.
   */
  takeOver(hub: string, of: { silentMs: number; all: boolean }): Promise<TakenOver | null>;
  /** Makes another hub the owner of ended runs of this hub. */
  giveBack(ids: readonly RunId[], hub: string): Promise<void>;
}

export interface TakenOver {
  runs: RunId[];
  intents: string[];
}

export interface Store extends BoardStore {
  /** Null for SQLite, which has one hub. */
  hubLeases: HubLeases | null;
  /** Applies changes in order, several in one transaction. Resolves when this change is on disk. */
  commit(change: Change): Promise<void>;
  /**
   * Resolves when the records of these runs are written to their folders too. Records of the runs in `now` (default:
   * all) are written at once. Each other record is written with the next commit about its run, or after a short delay.
   */
  recorded?(ids: readonly RunId[], now?: readonly RunId[]): Promise<void>;
  squad(id: SquadId): Promise<Squad | null>;
  /** Squads of this workspace that were started for backlog items, newest first. */
  squadsOfBacklog(workspace: string): Promise<Squad[]>;
  run(id: RunId): Promise<Run | null>;
  /** Runs, newest first; the runs of a squad in member order. */
  runs(filter: RunFilter): Promise<Run[]>;
  /** The other hub that owns this run. Null if this hub does, or if there is no such run. */
  otherOwner(id: RunId): Promise<OtherHub | null>;
  /** Asks the other hub that owns this run to stop it. `by` is the name of the canceller. */
  requestStop(id: RunId, by: string): Promise<void>;
  /** Requests of other hubs to stop runs of this hub that have not ended. */
  stopRequests(): Promise<{ runId: RunId; by: string }[]>;
  /** Tells other hubs what the running turns of this one have cost today, if several hubs can use the database. */
  saveRunningCost(usd: number): Promise<void>;
  /** Cost of the running turns of other hubs, of those hubs that saved it since this time. */
  runningCostElsewhere(since: number): Promise<number>;
  /** Stores the final answer of a run for other hubs, if several can use the database. Null removes it. */
  saveAnswer(runId: RunId, answer: string | null): Promise<void>;
  /** The stored answer. Null if there is none, or if only one hub can use the database. */
  answer(runId: RunId): Promise<string | null>;
  /** Name of the hub of each run. Empty if only one hub uses the database. */
  hubsOf(ids: readonly RunId[]): Promise<Map<RunId, string>>;
  /** Requests of hubs to each other. Null if only one hub can use the database. */
  hubCalls: HubCallRows | null;
  /** Calls the listener with each notification of another hub. Returns a function that unsubscribes. */
  onOtherHub(listener: (notice: Notice) => void): () => void;
  /** All hubs of the database with their runs. Empty if only this hub can use it. */
  listHubs(): Promise<Omit<HubReport, 'answer' | 'isOwn'>[]>;
  /** Asks all hubs of the database for facts about themselves. Null if only this hub can use the database. */
  reportHubs(): Promise<ClusterReport | null>;
  /** Facts with which this hub answers such questions. */
  answerHubs(facts: () => HubFacts): void;
  /** Every run of this hub that has not ended, oldest first. */
  liveRuns(): Promise<Run[]>;
  /** Every run of other hubs that has not ended, as its hub wrote it last, oldest first. */
  liveElsewhere(): Promise<Run[]>;
  /** Runs of this hub that have not ended and have a request to stop, in this turn or an earlier one. */
  runsAskedToStop(): Promise<Set<RunId>>;
  /** Turns of a run, first to last. */
  turns(runId: RunId): Promise<Turn[]>;
  chat(id: string): Promise<Chat | null>;
  review(id: ReviewId): Promise<Review | null>;
  /** Reviews, oldest first. */
  reviews(filter: ReviewFilter): Promise<Review[]>;
  /** Lineages of this hub with reviews and at least one run that has not ended. */
  reviewedLineages(): Promise<RunId[]>;
  reviewLimit(lineageId: RunId): Promise<number | null>;
  inboxItem(id: InboxId): Promise<InboxItem | null>;
  /** Items, newest first. */
  inboxItems(filter: InboxFilter): Promise<InboxItem[]>;
  /** The last line that was sent to the agent in a turn. Null if there is none. */
  lastSentLine(turn: TurnRef): Promise<Pick<SentLine, 'offset' | 'line'> | null>;
  /** Intents of this hub that were neither carried out nor undone, oldest first. */
  intents(): Promise<Intent[]>;
  events(filter: EventFilter): Promise<Event[]>;
  /** Run and squad ids that begin with `prefix` (with or without `run_` / `squad_`), newest first. */
  idsLike(prefix: string, limit: number): Promise<string[]>;
  /** Ids of the newest runs and squads, for suggestions. */
  recentIds(limit: number): Promise<string[]>;
  /**
   * Known cost of a squad, or of the runs created between these times. The times are rounded to a quarter of an hour,
   * because the cost comes from stored sums, without reading rows of runs.
   */
  spent(filter: { since?: number; until?: number; squadId?: SquadId }): Promise<number>;
  /**
   * Sums over the runs created from `since` until before `until`, or over a squad. Returned in pages, so that other
   * work gets its turn.
   */
  figures(filter: FiguresFilter): AsyncIterable<RunSums[]>;
  /** The most expensive squads, by stored cost and then by number of runs. */
  dearestSquads(filter: Omit<FiguresFilter, 'squadId'>, limit: number): Promise<SquadId[]>;
  settings(): Promise<Record<string, string>>;
  setSetting(key: string, value: string | null): Promise<void>;
  /** Runs that ended at this time or later. */
  endedSince(since: number, limit: number): Promise<Run[]>;
  /** Number of runs of this hub that ended before this time. */
  countEndedBefore(before: number): Promise<number>;
  /** Runs of this hub that ended before this time, oldest first. */
  endedBefore(before: number, limit: number): Promise<Run[]>;
  /** Removes these runs with their events and inbox items, and squads and chats that no other run refers to. */
  forget(runIds: RunId[]): Promise<void>;
  /** Calls the listener after each commit with its numbered events. Returns a function that unsubscribes. */
  onEvents(listener: (events: Event[]) => void): () => void;
  /**
   * Calls the listener with the numbered events of all hubs, in the order of their numbers. Resolves with a function
   * that unsubscribes, once the listener gets every later event.
   */
  follow(listener: (events: Event[]) => void): Promise<() => void>;
  /** Resolves when everything committed so far is on disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface BoardFilter {
  workspace?: string;
  squadId?: SquadId;
  /** Words that must all occur in the task, title, role, subagent, engine, model or id. */
  q?: string;
  /** Only runs with their own work tree. */
  hasWorktree?: true;
}

export interface EndedFilter extends BoardFilter {
  /**
   * `failed`: the run failed within a day before `at` and was not retried or continued by then; `done`: all others.
   * `failed_ever` and `never_failed` have no time limit.
   */
  part: 'failed' | 'done' | 'failed_ever' | 'never_failed';
  at: number;
  /** Only runs that follow this one, for paging. */
  after?: Pick<Run, 'createdAt' | 'id'>;
  limit: number;
}

/** Queries for the lists of runs that people see. */
export interface BoardStore {
  /** Ended runs, newest first. */
  endedRuns(filter: EndedFilter): Promise<Run[]>;
  countEnded(filter: BoardFilter, at: number): Promise<{ failed: number; done: number }>;
  /** Runs that completed with an error within a week before `at` and were not retried or continued since, newest first. */
  leftWithError(filter: BoardFilter, at: number): Promise<Run[]>;
  /** Runs that have not ended. */
  liveIds(filter: BoardFilter): Promise<Set<RunId>>;
  /** Returns those of these ended runs that were retried or continued after their end. */
  takenUp(ids: readonly RunId[]): Promise<Set<RunId>>;
  /** Returns the runs that a later run in the same work tree continued. */
  continuedInTree(ids: readonly RunId[]): Promise<Set<RunId>>;
  /** Returns the squads that have several members. */
  squadsOfSeveral(ids: readonly SquadId[]): Promise<Squad[]>;
  /**
   * Cost of ended runs created since then. Null if no cost was reported. `unreported` is the number of started runs
   * with unknown cost.
   */
  spending(since: number): Promise<{ costUsd: number | null; isEstimated: boolean; unreported: number }>;
  /** Every workspace with runs, most recently used first. */
  workspaces(): Promise<{ path: string; runs: number; lastRunAt: number }[]>;
  /** Turns of these runs, first to last within each run. */
  turnsOf(ids: readonly RunId[]): Promise<Turn[]>;
  /** Number of the newest event. 0 if there are no events. */
  lastEvent(): Promise<number>;
}

/** A message and its position. Messages may be stored out of order and repeatedly. */
export interface PlacedMessage extends StoredMessage {
  turn: number;
  /** Position within the turn, from 0. */
  position: number;
}

/** The conversation of one run of the native engine. */
export interface Conversation {
  runId: RunId;
  label: string;
  /** Name of the subagent. Null if the run is not a call of a subagent. */
  subagent: string | null;
  startedAt: number;
  messages: number;
  /** Time of the newest message. Null if there is none. */
  lastAt: number | null;
}

export interface ConversationFilter {
  workspace?: string;
  subagent?: string;
  /** Only conversations that began before this time. Used for paging. */
  before?: number;
  limit: number;
}

export interface MessageStore {
  /** Stores messages, in any order and repeatedly: messages that are already stored do not change. */
  saveMessages(messages: readonly PlacedMessage[]): Promise<void>;
  /** Messages in the order of the conversation. */
  messages(runId: RunId, page: { skip: number; limit: number }): Promise<StoredMessage[]>;
  message(runId: RunId, id: string): Promise<StoredMessage | null>;
  countMessages(runId: RunId): Promise<number>;
  /** Conversations, newest first. */
  conversations(filter: ConversationFilter): Promise<Conversation[]>;
  /** Names of subagents that have conversations. */
  talkers(): Promise<string[]>;
  /** Marks the conversation as complete. */
  closeConversation(conversation: Pick<Conversation, 'runId' | 'label' | 'startedAt'>): Promise<void>;
  /** Ended runs of the native engine whose conversation is not marked as complete, oldest first. */
  unclosedConversations(limit: number): Promise<RunId[]>;
}

export interface TextDocument {
  id: string;
  title: string;
  author: string | null;
  text: string;
}

export interface TextHit {
  id: string;
  /** The text around the match, on one line. */
  snippet: string;
  /** Rank of the hit: a higher one is better. Comparable only within one search. */
  score: number;
}

export interface TextHits {
  /** Hits, best first. */
  hits: TextHit[];
  total: number;
  /**
   * `all`: each hit contains every word. `some`: no document contains every word; the hits contain at least one.
   * `part`: the words occur as parts of other words.
   */
  match: 'all' | 'some' | 'part';
}

export interface TextSearch {
  /**
   * Indexes the documents of a key, unless this revision is already indexed. Searches for other keys continue during
   * that. Documents beyond the size limits are left out.
   */
  index(key: string, revision: string, documents: () => Iterable<TextDocument>): Promise<void>;
  /**
   * Searches the documents of a key. The query may be any text: words, "phrases", prefixes*. Null if it has no words.
   */
  search(key: string, query: string, limit: number): TextHits | null;
}
