import type { lookup } from 'node:dns';
import { expect, test } from 'vitest';
import { isRefusedHost } from '../../base/network.ts';
import { guardedLookup } from './http-session.ts';

const hostOf = (url: string) => new URL(url).hostname;

test.each([
  'http://169.254.169.254/latest/meta-data',
  'http://169.254.0.1',
  'http://2852039166',
  'http://0xa9fea9fe',
  'http://0xA9.0xFE.0xA9.0xFE',
  'http://0251.0376.0251.0376',
  'http://0251.254.169.254',
  'http://169.254.43518',
  'http://169.16689662',
  'http://[::ffff:169.254.169.254]',
  'http://[::ffff:a9fe:a9fe]',
  'http://[0:0:0:0:0:ffff:a9fe:a9fe]',
  'http://[::169.254.169.254]',
  'http://[64:ff9b::169.254.169.254]',
  'http://[2002:a9fe:a9fe::1]',
  'http://[fe80::1]',
  'http://[febf:ffff::1]',
  'http://[fd00:ec2::254]',
  'http://[fd00:0ec2:0:0:0:0:0:254]',
  'http://[fd20:ce::254]',
  'http://100.100.100.200',
  'http://192.0.0.192',
  'http://168.63.129.16',
  'http://１６９.２５４.１６９.２５４',
  'http://169。254。169。254',
  'http://user:pass@169.254.169.254:80/',
])('%s is never connected to', url => {
  expect(isRefusedHost(hostOf(url))).toBe(true);
});

test.each([
  'http://127.0.0.1',
  'http://[::1]',
  'http://10.0.0.1',
  'http://192.168.1.1',
  'http://8.8.8.8',
  'http://169.253.255.255',
  'http://169.255.0.0',
  'http://[fec0::1]',
  'http://[fd00::1]',
  'http://localhost',
  'http://169.254.169.254.example.com',
])('%s may be', url => {
  expect(isRefusedHost(hostOf(url))).toBe(false);
});

/** A name server that gives these addresses. */
const resolver = (...addresses: string[]) =>
  ((_name: string, _options: unknown, callback: (error: null, found: unknown) => void) =>
    callback(
      null,
      addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )) as unknown as typeof lookup;

const lookUp = (all: boolean, ...addresses: string[]) =>
  new Promise(resolve =>
    guardedLookup(resolver(...addresses))('name.test', { all }, (error, found) =>
      resolve(error ? error.code : found),
    ),
  );

test('a name is refused for one bad address among good ones', {
  tags: ['requests-to-where-only-credentials-are'],
}, async () => {
  expect(await lookUp(true, '93.184.216.34', '169.254.169.254')).toBe('EREFUSEDADDRESS');
  expect(await lookUp(false, '::ffff:169.254.169.254')).toBe('EREFUSEDADDRESS');
});

test('a name with good addresses is handed on as it was asked for', async () => {
  expect(await lookUp(false, '93.184.216.34')).toBe('93.184.216.34');
  expect(await lookUp(true, '93.184.216.34', '::1')).toEqual([
    { address: '93.184.216.34', family: 4 },
    { address: '::1', family: 6 },
  ]);
});
