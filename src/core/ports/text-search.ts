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
  /** Higher is better; comparable only within one search. */
  score: number;
}

export interface TextHits {
  /** Best first. */
  hits: TextHit[];
  total: number;
  /** `all`: each hit has every word. `some`: no document has every word, these have at least one. `part`: the words as parts of other words. */
  match: 'all' | 'some' | 'part';
}

export interface TextSearch {
  /**
   * Indexes the documents of a key, unless this revision is indexed already. Searches for other keys continue meanwhile.
   * Documents beyond the size limits are left out.
   */
  index(key: string, revision: string, documents: () => Iterable<TextDocument>): Promise<void>;
  /** Accepts any text: words, "phrases", prefixes*. Null: the query has no words. */
  search(key: string, query: string, limit: number): TextHits | null;
}
