import { expect, test } from 'vitest';
import { looksSecret } from './secrets.ts';

test.each([
  ...[
    'password',
    'userPassword',
    'db_passwd',
    'PWD',
    'newPassword1',
    'pass\u200bword',
    'ｐａｓｓｗｏｒｄ',
    'mypassword',
  ],
  ...['pin', 'card_pin', 'cardPin', 'otpCode', 'mfa-code', '2fa', 'cvv', 'ssn', 'PINCode'],
  ...['access_key', 'awsAccessKeyId', 'sshKey', 'PRIVATE KEY', 'apikey', 'API-Key', 'client_secret'],
  ...[
    'auth',
    'Authorization',
    'bearer',
    'credentials',
    'githubToken',
    'token',
    'Paste your access tokens here',
  ],
])('%s is asked of nobody', text => {
  expect(looksSecret(text)).toBe(true);
});

test.each([
  ...['max_tokens', 'maxTokens', 'max_token', 'token_count', 'Number of tokens to spend'],
  ...['name', 'spinner', 'author', 'shipping', 'primary key', 'keyboard', 'option', 'a compass'],
])('%s can be asked', text => {
  expect(looksSecret(text)).toBe(false);
});
