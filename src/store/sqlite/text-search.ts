import BetterSqlite3 from 'better-sqlite3';
import type { TextDocument, TextHit, TextHits, TextSearch } from '../../core/ports/text-search.ts';
import { searchTerms } from './search-query.ts';

/** As many as somebody works in at a time. */
const MOST_KEYS = 8;
/** Words of a snippet. */
const SNIPPET_WORDS = 28;
const SNIPPET_LENGTH = 240;
const LONGEST_PART = 200;
/** What a word in the title, the author and the text is worth. */
const WEIGHTS = '8.0, 3.0, 1.0';

/** Full text search in memory: an index for each key, made anew when its documents have changed. */
export function createTextSearch(): TextSearch & { close(): void } {
  const indexes = new Map<string, { revision: string; database: BetterSqlite3.Database }>();
  const drop = (key: string) => {
    indexes.get(key)?.database.close();
    indexes.delete(key);
  };
  return {
    index(key, revision, documents) {
      const known = indexes.get(key);
      if (known?.revision === revision) return;
      const database = indexOf(documents());
      drop(key);
      indexes.set(key, { revision, database });
      if (indexes.size > MOST_KEYS) drop(indexes.keys().next().value!);
    },
    search(key, query, limit) {
      const database = indexes.get(key)?.database;
      const part = query.trim().slice(0, LONGEST_PART).toWellFormed();
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

function indexOf(documents: readonly TextDocument[]): BetterSqlite3.Database {
  const database = new BetterSqlite3(':memory:');
  database.exec(
    `create virtual table documents using fts5(title, author, text, id unindexed, tokenize = 'porter unicode61 remove_diacritics 2')`,
  );
  const insert = database.prepare('insert into documents (id, title, author, text) values (?, ?, ?, ?)');
  database.transaction(() => {
    for (const { id, title, author, text } of documents) insert.run(id, title, author ?? '', text);
  })();
  return database;
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

/** For what is no word to FTS5: a part of one, a sign, a script without spaces. */
function holding(
  database: BetterSqlite3.Database,
  part: string,
  limit: number,
): Pick<TextHits, 'hits' | 'total'> {
  const like = `%${part.replace(/[\\%_]/g, '\\$&')}%`;
  const rows = database
    .prepare(
      `select id, title, text, title like @like escape '\\' as isTitle from documents
       where title like @like escape '\\' or text like @like escape '\\' order by isTitle desc, rowid`,
    )
    .all({ like }) as { id: string; title: string; text: string; isTitle: number }[];
  const hits = rows.slice(0, limit).map(({ id, text, isTitle }) => {
    const at = Math.max(0, text.toLowerCase().indexOf(part.toLowerCase()) - SNIPPET_LENGTH / 3);
    const snippet = text.slice(at, at + SNIPPET_LENGTH).toWellFormed();
    return { id, score: isTitle, snippet: oneLine(`${at > 0 ? '…' : ''}${snippet}`) };
  });
  return { hits, total: rows.length };
}

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > SNIPPET_LENGTH * 2 ? `${line.slice(0, SNIPPET_LENGTH * 2).toWellFormed()}…` : line;
};
