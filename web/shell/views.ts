/** Views of the navigation, in order. */
export const VIEWS = [
  { name: 'Runs', href: '/', key: 'g r' },
  { name: 'Inbox', href: '/inbox', key: 'g i' },
  { name: 'Reviews', href: '/reviews', key: 'g v' },
  { name: 'Merge', href: '/merge', key: 'g m' },
  { name: 'Backlog', href: '/backlog', key: 'g b' },
  { name: 'Decisions', href: '/decisions', key: 'g d' },
  { name: 'Cost', href: '/cost', key: 'g c' },
  { name: 'Gateway', href: '/gateway', key: 'g g' },
  { name: 'Machines', href: '/machines', key: 'g a' },
  { name: 'Chats', href: '/chats', key: 'g h' },
  { name: 'Events', href: '/events', key: 'g e' },
  { name: 'Search', href: '/search', key: 'g f' },
  { name: 'Settings', href: '/settings', key: 'g s' },
] as const;
