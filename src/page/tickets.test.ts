import { expect, test } from 'vitest';
import { TICKET_MS, Tickets } from './tickets.ts';

const at = (start: number) => {
  const clock = { now: start };
  return { clock, tickets: new Tickets(() => clock.now) };
};

test('a ticket is good once', () => {
  const { tickets } = at(0);
  const { ticket, expiresAt } = tickets.issue({ purpose: 'live' });
  expect(ticket).toMatch(/^[\w-]{43}$/);
  expect(expiresAt).toBe(TICKET_MS);
  expect(tickets.redeem(ticket, 'live')).toEqual({ purpose: 'live' });
  expect(tickets.redeem(ticket, 'live')).toBeNull();
});

test('it is good until its time is up, and not at that moment', () => {
  const { tickets, clock } = at(0);
  const [early, late] = [tickets.issue({ purpose: 'live' }), tickets.issue({ purpose: 'live' })];
  clock.now = TICKET_MS - 1;
  expect(tickets.redeem(early.ticket, 'live')).not.toBeNull();
  clock.now = TICKET_MS;
  expect(tickets.redeem(late.ticket, 'live')).toBeNull();
});

test('shown for something else it is good for nothing, and used up', () => {
  const { tickets } = at(0);
  const { ticket } = tickets.issue({ purpose: 'open', path: '/' });
  expect(tickets.redeem(ticket, 'live')).toBeNull();
  expect(tickets.redeem(ticket, 'open')).toBeNull();
});

test('of those nobody comes with only so many are kept, the newest', () => {
  const { tickets } = at(0);
  const issued = Array.from({ length: 5_000 }, () => tickets.issue({ purpose: 'live' }).ticket);
  const good = issued.map(ticket => tickets.redeem(ticket, 'live') !== null);
  expect(good.filter(Boolean)).toHaveLength(1_000);
  expect(good.slice(-1_000).every(Boolean)).toBe(true);
});
