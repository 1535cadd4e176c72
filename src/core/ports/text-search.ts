export interface TextDocument {
  id: string;
  title: string;
  author: string | null;
  text: string;
}

export interface TextHit {
  id: string;
  /** The words around what was found, on one line. */
  snippet: string;
  /** Higher is better; only to compare hits of one search. */
  score: number;
}

export interface TextHits {
  /** Best first. */
  hits: TextHit[];
  total: number;
  /** `all`: each has every word. `some`: none had, these have one at least. `part`: the words as part of others. */
  match: 'all' | 'some' | 'part';
}

/** Full text search over what somebody else keeps. */
export interface TextSearch {
  /** Takes the documents of a key, unless it has this revision of them already. Others are answered meanwhile; what is beyond its bounds is left out. */
  index(key: string, revision: string, documents: () => Iterable<TextDocument>): Promise<void>;
  /** Any text is a query: words, "phrases", beginnings*. Null when there is nothing in it to look for. */
  search(key: string, query: string, limit: number): TextHits | null;
}
