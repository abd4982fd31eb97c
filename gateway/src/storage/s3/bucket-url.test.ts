import { expect, test } from 'vitest'

import { parseBucketUrl } from './bucket-url.ts'

test('a bucket has a prefix, a region, an endpoint and an encryption', () => {
  const url =
    's3://kinora-media/a/b/?region=eu-central-1&endpoint=https://s3.example.com/&path_style=true&encryption=aws:kms&kms_key=alias/media'
  expect(parseBucketUrl(url)).toEqual({
    name: 'kinora-media',
    prefix: 'a/b/',
    region: 'eu-central-1',
    endpoint: 'https://s3.example.com',
    isPathStyle: true,
    encryption: { algorithm: 'aws:kms', kmsKeyId: 'alias/media' },
  })
})

test('only the name of the bucket is required', () => {
  expect(parseBucketUrl('s3://media')).toEqual({
    ...{ name: 'media', prefix: '', region: undefined, endpoint: undefined },
    ...{ isPathStyle: false, encryption: undefined },
  })
})

test.each([
  ['/var/media', 'must be s3://bucket/prefix'],
  ['https://media', 'must be s3://bucket/prefix'],
  ['s3://', 'has no valid bucket name'],
  ['s3://a', 'has no valid bucket name'],
  ['s3://key:secret@media', 'must not contain credentials'],
  ['s3://media?regoin=x', 'unknown parameter "regoin"'],
  ['s3://media/a b', 'must have a prefix of letters'],
  ['s3://media?path_style=yes', 'path_style must be true or false'],
  ['s3://media?endpoint=ftp://x', 'endpoint must be a URL'],
  ['s3://media?encryption=none', 'encryption must be AES256 or aws:kms'],
  ['s3://media?encryption=AES256&kms_key=x', 'kms_key needs encryption=aws:kms'],
])('%s is refused', (url, problem) => {
  expect(() => parseBucketUrl(url)).toThrow(problem)
})
