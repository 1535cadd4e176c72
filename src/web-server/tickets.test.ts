import { afterEach, expect, test, vi } from 'vitest';
import { TICKET_MS, Tickets } from './tickets.ts';

afterEach(() => void vi.useRealTimers());

const at = (start: number) => {
  const clock = { now: start, setBy: 0 };
  return { clock, tickets: new Tickets({ now: () => clock.now + clock.setBy, monotonic: () => clock.now }) };
};

test('a ticket is good once', () => {
  const { tickets } = at(0);
  const { ticket, expiresAt } = tickets.issue({ purpose: 'live', session: null });
  expect(ticket).toMatch(/^[\w-]{43}$/);
  expect(expiresAt).toBe(TICKET_MS.live);
  expect(tickets.redeem(ticket, 'live')).toEqual({ purpose: 'live', session: null });
  expect(tickets.redeem(ticket, 'live')).toBeNull();
});

test('a ticket is valid until its time is up, and not at that moment', () => {
  const { tickets, clock } = at(0);
  const [early, late] = [
    tickets.issue({ purpose: 'live', session: null }),
    tickets.issue({ purpose: 'live', session: null }),
  ];
  clock.now = TICKET_MS.live - 1;
  expect(tickets.redeem(early.ticket, 'live')).not.toBeNull();
  clock.now = TICKET_MS.live;
  expect(tickets.redeem(late.ticket, 'live')).toBeNull();
});

test('shown for something else it is good for nothing, and used up', () => {
  const { tickets } = at(0);
  const { ticket } = tickets.issue({ purpose: 'open', host: 'h' });
  expect(tickets.redeem(ticket, 'live')).toBeNull();
  expect(tickets.redeem(ticket, 'open')).toBeNull();
});

test('of those nobody comes with only so many are kept, the newest', () => {
  const { tickets } = at(0);
  const issued = Array.from(
    { length: 5_000 },
    () => tickets.issue({ purpose: 'live', session: null }).ticket,
  );
  const good = issued.map(ticket => tickets.redeem(ticket, 'live') !== null);
  expect(good.filter(Boolean)).toHaveLength(1_000);
  expect(good.slice(-1_000).every(Boolean)).toBe(true);
});

test('a ticket can be checked without being used up', () => {
  const { tickets } = at(0);
  const { ticket } = tickets.issue({ purpose: 'open', host: 'h' });
  expect(tickets.find(ticket, 'open')).toEqual({ purpose: 'open', host: 'h' });
  expect(tickets.find(ticket, 'live')).toBeNull();
  expect(tickets.redeem(ticket, 'open')).toEqual({ purpose: 'open', host: 'h' });
  expect(tickets.find(ticket, 'open')).toBeNull();
});

test('unused tickets are forgotten when their time is up, though nobody asks for another', () => {
  vi.useFakeTimers();
  const { tickets } = at(0);
  tickets.issue({ purpose: 'open', host: 'h' });
  tickets.issue({ purpose: 'live', session: null });
  vi.advanceTimersByTime(TICKET_MS.live);
  expect(tickets.size).toBe(1);
  vi.advanceTimersByTime(TICKET_MS.open);
  expect(tickets.size).toBe(0);
});

test.each([
  ['ahead', 3_600_000],
  ['back', -3_600_000],
])('a clock that is set an hour %s does not change how long it is good', { tags: ['R23'] }, (_, by) => {
  const { tickets, clock } = at(0);
  const [early, late] = [
    tickets.issue({ purpose: 'live', session: null }),
    tickets.issue({ purpose: 'live', session: null }),
  ];
  clock.setBy = by;
  expect(tickets.find(early.ticket, 'live')).not.toBeNull();
  clock.now = TICKET_MS.live;
  expect(tickets.find(late.ticket, 'live')).toBeNull();
});
