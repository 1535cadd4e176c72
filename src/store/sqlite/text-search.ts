import { setImmediate as turn } from 'node:timers/promises';
import BetterSqlite3 from 'better-sqlite3';
import type { TextDocument, TextHit, TextHits, TextSearch } from '../../core/ports/store.ts';

const MAX_TERMS = 32;
const MAX_QUERY_LENGTH = 4_000;
/** A quoted phrase, or a word, which may end with a star to match its beginning. */
const TERM = /"([^"]*)"|[^\s"]+/g;
const OPERATORS = new Set(['AND', 'OR', 'NOT', 'NEAR']);

/** The terms of a query, each quoted so that FTS5 always reads it as a string. */
function searchTerms(query: string): string[] {
  const terms = new Set<string>();
  for (const [whole, phrase] of query.slice(0, MAX_QUERY_LENGTH).toWellFormed().matchAll(TERM)) {
    const words = (phrase ?? whole).match(/[\p{L}\p{N}\p{M}_]+/gu);
    if (!words || (phrase === undefined && OPERATORS.has(whole))) continue;
    const isBeginning = phrase === undefined && /[\p{L}\p{N}]\*+\W*$/u.test(whole);
    terms.add(`"${words.join(' ')}"${isBeginning ? '*' : ''}`);
    if (terms.size === MAX_TERMS) break;
  }
  return [...terms];
}

const MAX_KEYS = 8;
/** Limits of one search index. */
const MAX_DOCUMENTS = 20_000;
const MAX_LENGTH = 8 * 1024 * 1024;
const MAX_DOCUMENT_LENGTH = 256 * 1024;
/** Number of documents that are indexed before the event loop gets a turn. */
const BATCH = { documents: 200, length: 128 * 1024 };
const SNIPPET_WORDS = 28;
const SNIPPET_LENGTH = 240;
const MAX_PART_LENGTH = 200;
/** Weights of title, author and text in the ranking. */
const WEIGHTS = '8.0, 3.0, 1.0';

/** Full text search in memory: one index per key, rebuilt when its documents have changed. */
export function createTextSearch(): TextSearch & { close(): void } {
  const indexes = new Map<string, { revision: string; database: BetterSqlite3.Database }>();
  /** Indexes being built. Concurrent requests for the same index wait for it. */
  const coming = new Map<string, Promise<void>>();
  const drop = (key: string) => {
    indexes.get(key)?.database.close();
    indexes.delete(key);
  };
  return {
    async index(key, revision, documents) {
      if (indexes.get(key)?.revision === revision) return;
      const name = JSON.stringify([key, revision]);
      const making =
        coming.get(name) ??
        indexOf(documents)
          .then(database => {
            drop(key);
            indexes.set(key, { revision, database });
            if (indexes.size > MAX_KEYS) drop(indexes.keys().next().value!);
          })
          .finally(() => coming.delete(name));
      coming.set(name, making);
      await making;
    },
    search(key, query, limit) {
      const database = indexes.get(key)?.database;
      const part = query.trim().slice(0, MAX_PART_LENGTH).toWellFormed();
      if (part === '') return null;
      if (!database) return { hits: [], total: 0, match: 'all' };
      const terms = searchTerms(query);
      for (const [match, joined] of [
        ['all', terms.join(' AND ')],
        ['some', terms.join(' OR ')],
      ] as const) {
        const found = joined === '' ? null : ranked(database, joined, limit);
        if (found && found.total > 0) return { ...found, match };
      }
      return { ...holding(database, part, limit), match: 'part' };
    },
    close: () => [...indexes.keys()].forEach(drop),
  };
}

async function indexOf(documents: () => Iterable<TextDocument>): Promise<BetterSqlite3.Database> {
  const database = new BetterSqlite3(':memory:');
  database.exec(
    `create virtual table documents using fts5(title, author, text, id unindexed, tokenize = 'porter unicode61 remove_diacritics 2')`,
  );
  const insert = database.prepare('insert into documents (id, title, author, text) values (?, ?, ?, ?)');
  const add = database.transaction((batch: readonly TextDocument[]) => {
    for (const { id, title, author, text } of batch) insert.run(id, title, author ?? '', text);
  });
  for (const batch of batchesOf(documents())) {
    add(batch);
    await turn();
  }
  return database;
}

/** Takes documents up to the limits of one index. */
function* batchesOf(documents: Iterable<TextDocument>): Iterable<TextDocument[]> {
  let batch: TextDocument[] = [];
  let [count, length, ofBatch] = [0, 0, 0];
  for (const document of documents) {
    const text = document.text.slice(0, MAX_DOCUMENT_LENGTH).toWellFormed();
    const size = text.length + document.title.length;
    if (++count > MAX_DOCUMENTS || length + size > MAX_LENGTH) break;
    length += size;
    ofBatch += size;
    batch.push({ ...document, text });
    if (batch.length < BATCH.documents && ofBatch < BATCH.length) continue;
    yield batch;
    batch = [];
    ofBatch = 0;
  }
  yield batch;
}

function ranked(
  database: BetterSqlite3.Database,
  match: string,
  limit: number,
): Pick<TextHits, 'hits' | 'total'> {
  const { total } = database
    .prepare('select count(*) as total from documents where documents match ?')
    .get(match) as {
    total: number;
  };
  const rows = database
    .prepare(
      `select id, -bm25(documents, ${WEIGHTS}) as score, snippet(documents, -1, '', '', '…', ${SNIPPET_WORDS}) as snippet
       from documents where documents match ? order by bm25(documents, ${WEIGHTS}), rowid limit ?`,
    )
    .all(match, limit) as TextHit[];
  const hits = rows.map(({ id, score, snippet }) => ({
    id,
    score: Number(score.toPrecision(3)),
    snippet: oneLine(snippet),
  }));
  return { hits, total };
}

/** Substring search, for queries without FTS5 words: part of a word, punctuation, a script without spaces. */
function holding(
  database: BetterSqlite3.Database,
  part: string,
  limit: number,
): Pick<TextHits, 'hits' | 'total'> {
  const like = `%${part.replace(/[\\%_]/g, '\\$&')}%`;
  const where = `from documents where title like @like escape '\\' or text like @like escape '\\'`;
  const { total } = database.prepare(`select count(*) as total ${where}`).get({ like }) as { total: number };
  const rows = database
    .prepare(
      `select id, text, title like @like escape '\\' as isTitle ${where} order by isTitle desc, rowid limit @limit`,
    )
    .all({ like, limit }) as { id: string; text: string; isTitle: number }[];
  const hits = rows.map(({ id, text, isTitle }) => {
    const at = Math.max(0, text.toLowerCase().indexOf(part.toLowerCase()) - SNIPPET_LENGTH / 3);
    const snippet = text.slice(at, at + SNIPPET_LENGTH).toWellFormed();
    return { id, score: isTitle, snippet: oneLine(`${at > 0 ? '…' : ''}${snippet}`) };
  });
  return { hits, total };
}

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > SNIPPET_LENGTH * 2 ? `${line.slice(0, SNIPPET_LENGTH * 2).toWellFormed()}…` : line;
};
