import type { Peer } from '../wire/face/face.ts';

const LONGEST = 100;

/** As the client calls itself; never the bare word that stands for the user's own terminal or page. */
export const clientName = ({ client }: Pick<Peer, 'client'>): string | null =>
  client ? `${client.name} ${client.version.trim() || '(no version)'}`.slice(0, LONGEST) : null;
