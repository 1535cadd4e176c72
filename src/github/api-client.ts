import type { ForgeRepository } from '../core/ports/git-host.ts';

/** The calls we make of a GitHub API, and how they end: nothing of the library that makes them shows. */
export interface ApiClient {
  repository(of: Named): Promise<ApiEnd>;
  openPulls(of: Named, head: string): Promise<ApiEnd>;
  createPull(of: Named, pull: { title: string; body: string; head: string; base: string }): Promise<ApiEnd>;
  createIssue(of: Named, issue: { title: string; body: string; labels: string[] }): Promise<ApiEnd>;
}

export interface ApiClientOptions {
  apiUrl: string;
  token: string;
  limitMs: number;
  /** Proxies and certificates. */
  env: Record<string, string>;
}

type Named = Pick<ForgeRepository, 'owner' | 'name'>;
export type ApiEnd = { data: unknown } | ApiFailure;

export interface ApiFailure {
  failed: true;
  /** Null: there was no answer. */
  status: number | null;
  /** Names in lower case. */
  headers: Record<string, string>;
  data: unknown;
  message: string;
}
