import type { StoredMessage } from '../../schema/conversation.ts';
import type { RunId } from '../../schema/ids.ts';

/** A message with its place: it may be written before the one before it, and again. */
export interface PlacedMessage extends StoredMessage {
  turn: number;
  /** Within the turn, from 0. */
  position: number;
}

/** All that was said in one run of the native engine. */
export interface Conversation {
  runId: RunId;
  label: string;
  /** Null: it is no subagent's. */
  subagent: string | null;
  startedAt: number;
  messages: number;
  /** Of the newest message; null: there is none. */
  lastAt: number | null;
}

export interface ConversationFilter {
  /** Only of runs of this one. */
  workspace?: string;
  subagent?: string;
  /** Only those that began before this moment, for paging backwards. */
  before?: number;
  limit: number;
}

/** Where conversations are kept. */
export interface MessageStore {
  /** In any order and as often as one likes: what is there already stays as it is. */
  saveMessages(messages: readonly PlacedMessage[]): Promise<void>;
  /** In the order they were said. */
  messages(runId: RunId, page: { skip: number; limit: number }): Promise<StoredMessage[]>;
  message(runId: RunId, id: string): Promise<StoredMessage | null>;
  countMessages(runId: RunId): Promise<number>;
  /** Newest first. */
  conversations(filter: ConversationFilter): Promise<Conversation[]>;
  /** Names of subagents that have conversations. */
  talkers(): Promise<string[]>;
  /** Nothing more will come, and everything is there. */
  closeConversation(conversation: Pick<Conversation, 'runId' | 'label' | 'startedAt'>): Promise<void>;
  /** Ended runs of the native engine of which that has not been said, oldest first. */
  unclosedConversations(limit: number): Promise<RunId[]>;
}
