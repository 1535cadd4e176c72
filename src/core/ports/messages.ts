import type { StoredMessage } from '../../schema/conversation.ts';
import type { RunId } from '../../schema/ids.ts';

/** A message and its place. Messages may be stored out of order and repeatedly. */
export interface PlacedMessage extends StoredMessage {
  turn: number;
  /** Within the turn, from 0. */
  position: number;
}

/** The conversation of one run of the native engine. */
export interface Conversation {
  runId: RunId;
  label: string;
  /** Null: the run is no call of a subagent. */
  subagent: string | null;
  startedAt: number;
  messages: number;
  /** Time of the newest message; null: there is none. */
  lastAt: number | null;
}

export interface ConversationFilter {
  workspace?: string;
  subagent?: string;
  /** Only conversations that began before this time, for paging. */
  before?: number;
  limit: number;
}

export interface MessageStore {
  /** In any order, repeatedly: messages that are stored already do not change. */
  saveMessages(messages: readonly PlacedMessage[]): Promise<void>;
  /** In the order of the conversation. */
  messages(runId: RunId, page: { skip: number; limit: number }): Promise<StoredMessage[]>;
  message(runId: RunId, id: string): Promise<StoredMessage | null>;
  countMessages(runId: RunId): Promise<number>;
  /** Newest first. */
  conversations(filter: ConversationFilter): Promise<Conversation[]>;
  /** Names of subagents that have conversations. */
  talkers(): Promise<string[]>;
  /** Marks the conversation as complete. */
  closeConversation(conversation: Pick<Conversation, 'runId' | 'label' | 'startedAt'>): Promise<void>;
  /** Ended runs of the native engine whose conversation is not marked as complete, oldest first. */
  unclosedConversations(limit: number): Promise<RunId[]>;
}
