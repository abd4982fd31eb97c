/** `/overview`: what an operator looks at first. */
import { useQuery } from '@tanstack/react-query'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { Page } from '../shell/page.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { AttentionCard } from './attention/attention-card.tsx'
import { DurationCard } from './chart/duration-card.tsx'
import { overviewQuery } from './overview-data.ts'
import { ProvidersCard } from './providers/providers-card.tsx'
import { Tiles } from './tiles.tsx'

import styles from './overview-page.module.css'

export const OverviewPage = () => {
  const common = useTexts(commonTexts)
  const { data, error, refetch } = useQuery(overviewQuery)
  return (
    <Page title={common.pages.overview}>
      {error !== null && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        error === null && (
          <>
            <Skeleton height={138} />
            <div className={styles['middle']}>
              <Skeleton height={280} />
              <Skeleton height={280} />
            </div>
            <Skeleton height={260} />
          </>
        )
      ) : (
        <>
          <Tiles overview={data} />
          <div className={styles['middle']}>
            <DurationCard series={data.time_to_video.series} />
            <AttentionCard attention={data.attention} at={data.at} />
          </div>
          <ProvidersCard providers={data.providers} />
        </>
      )}
    </Page>
  )
}
