/** Finds settings of a bucket that keep content after its deletion. */
import type { S3Client } from '@aws-sdk/client-s3'

import type { Explanation } from '../port/store-problem.ts'
import type { Bucket } from './bucket-url.ts'
import { connectS3, defaultLimits, nameOf, statusOf, type S3Connection } from './s3-connection.ts'

export interface BucketSetting {
  name: string
  detail: string
  /** Undefined if deleted content is gone. */
  warning: Explanation | undefined
}

const dayMs = 86_400_000

interface Question {
  name: string
  /** The permission that S3 asks for. */
  action: string
  detail: string
  /** The name of the error of a bucket that never had the setting. */
  absent: string
  ask: (
    connection: S3Connection,
    bucket: Bucket,
    send: <Output>(
      request: (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<Output>,
    ) => Promise<Output>,
  ) => Promise<Explanation | undefined>
  /** The answer for a bucket that never had the setting. */
  ifAbsent?: Question['ask']
}

/** Unfinished uploads that no process continues. */
const warnOfUploads: Question['ask'] = async ({ sdk }, { name: Bucket, prefix: Prefix }, send) => {
  const { Uploads = [] } = await send((client, options) =>
    client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix }), options),
  )
  const left = Uploads.filter(({ Initiated }) => Date.now() - (Initiated?.getTime() ?? 0) > dayMs).length
  return {
    cause: `no lifecycle rule aborts unfinished uploads, and their parts stay${left === 0 ? '' : `: ${left} are more than a day old`}`,
    fix: 'add a lifecycle rule with AbortIncompleteMultipartUpload after 1 day',
  }
}

const questions: Question[] = [
  {
    ...{ name: 'versions', action: 's3:GetBucketVersioning', detail: 'not kept', absent: '' },
    ask: async ({ sdk }, { name: Bucket }, send) => {
      const { Status } = await send((client, options) =>
        client.send(new sdk.GetBucketVersioningCommand({ Bucket }), options),
      )
      if (Status === undefined) return undefined
      return {
        cause: `versioning is ${Status.toLowerCase()}, so the versions of a deleted object stay`,
        fix: 'use a bucket without versioning, or add a lifecycle rule with NoncurrentVersionExpiration after 1 day',
      }
    },
  },
  {
    ...{ name: 'object lock', action: 's3:GetBucketObjectLockConfiguration', detail: 'none' },
    absent: 'ObjectLockConfigurationNotFoundError',
    ask: async ({ sdk }, { name: Bucket }, send) => {
      const { ObjectLockConfiguration: lock } = await send((client, options) =>
        client.send(new sdk.GetObjectLockConfigurationCommand({ Bucket }), options),
      )
      if (lock?.ObjectLockEnabled !== 'Enabled') return undefined
      return {
        cause: 'object lock is enabled, so deleted content stays until the lock of its version ends',
        fix: 'use a bucket without object lock',
      }
    },
  },
  {
    ...{
      name: 'unfinished uploads',
      action: 's3:GetLifecycleConfiguration',
      detail: 'removed by a lifecycle rule',
    },
    absent: 'NoSuchLifecycleConfiguration',
    ask: async (connection, bucket, send) => {
      const { sdk } = connection
      const { Rules = [] } = await send((client, options) =>
        client.send(new sdk.GetBucketLifecycleConfigurationCommand({ Bucket: bucket.name }), options),
      )
      const isAborted = Rules.some(
        ({ Status, AbortIncompleteMultipartUpload: abort, Filter, Prefix }) =>
          Status === 'Enabled' &&
          abort?.DaysAfterInitiation !== undefined &&
          bucket.prefix.startsWith(Filter?.Prefix ?? Prefix ?? ''),
      )
      return isAborted ? undefined : warnOfUploads(connection, bucket, send)
    },
    ifAbsent: warnOfUploads,
  },
]

const askBucket = async (
  connection: S3Connection,
  bucket: Bucket,
  { name, action, detail, absent, ask, ifAbsent }: Question,
): Promise<BucketSetting> => {
  const { client, call } = connection
  const send: Parameters<Question['ask']>[2] = (request) =>
    call((abortSignal) => request(client, { abortSignal }))
  try {
    const warning = await ask(connection, bucket, send).catch((error: unknown) => {
      if (nameOf(error) !== absent) throw error
      return ifAbsent?.(connection, bucket, send)
    })
    return { name, detail, warning }
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    // A server without the function has no such setting.
    if (nameOf(cause) === 'NotImplemented' || statusOf(cause) === 405)
      return { name, detail, warning: undefined }
    return {
      ...{ name, detail },
      warning: {
        cause: `not known, because ${action} failed: ${nameOf(cause) ?? String(cause)}`,
        fix: `allow ${action} on arn:aws:s3:::${bucket.name}, or look at the settings of the bucket`,
      },
    }
  }
}

/** The settings of a bucket that decide whether deleted content is gone. */
export const checkBucket = async (bucket: Bucket): Promise<BucketSetting[]> => {
  const connection = await connectS3(bucket, defaultLimits)
  return Promise.all(questions.map((question) => askBucket(connection, bucket, question)))
}
