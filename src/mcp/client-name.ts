import type { Peer } from '../wire/face.ts';

const LONGEST = 100;

/** As the client calls itself. */
export const clientName = ({ client }: Pick<Peer, 'client'>): string | null =>
  client ? `${client.name} ${client.version}`.slice(0, LONGEST) : null;
