/** The routes of a model in their order: moved, changed, added and removed. */
import type { ModelEntry } from '@kinora/client/admin'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowDown, ArrowUp, Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { formatMoney, formatNumber, formatPercent } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { protocolsQuery, providersQuery } from '../providers/provider-data.ts'
import { Prose } from '../schema-form/prose.tsx'
import { kinoraAdmin } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ErrorPanel, Note, Skeleton } from '../ui/feedback.tsx'
import { Confirm } from '../ui/sheet.tsx'
import { Tag } from '../ui/status.tsx'
import { routesQuery, type Route } from './model-data.ts'
import { describeRoute, groupRoutes, mayMove, moveRoute } from './route-order.ts'
import { RouteSheet } from './route-sheet.tsx'
import { modelTexts } from './texts.ts'
import { useChange } from './use-change.ts'

import styles from './model-detail.module.css'

const RouteFacts = ({ route, model, group }: { route: Route; model: string; group: Route[] }) => {
  const texts = useTexts(modelTexts)
  const weights = group.reduce((sum, { weight }) => sum + weight, 0)
  return (
    <p className={styles['facts']}>
      {route.model !== model && <span className="mono">{route.model}</span>}
      {group.length > 1 && <span>{texts.routes.weight(formatPercent(route.weight / weights))}</span>}
      <span>{texts.routes.slots(formatNumber(route.slots))}</span>
      {route.seconds !== null && <span>{texts.routes.seconds(route.seconds.join(', '))}</span>}
      {route.sizes !== null && <span>{route.sizes.join(', ')}</span>}
      <span>
        {route.costs === null
          ? texts.routes.costsUnknown
          : `${texts.routes.costs} ${route.costs
              .map(
                ({ micros, currency, unit, resolution }) =>
                  `${formatMoney(micros, currency)} ${texts.units[unit] ?? unit}${resolution === null ? '' : ` (${resolution})`}`,
              )
              .join(', ')}`}
      </span>
      {route.health.reason !== null && (
        <span className="bad">
          <Prose text={route.health.reason} />
        </span>
      )}
    </p>
  )
}

export const RoutesCard = ({ model, mayChange }: { model: ModelEntry; mayChange: boolean }) => {
  const { routes: texts } = useTexts(modelTexts)
  const { data, error, refetch } = useQuery(routesQuery(model.id))
  const { data: providers = [] } = useQuery(providersQuery)
  const { data: protocols = [] } = useQuery(protocolsQuery)
  const change = useChange()
  const [edited, setEdited] = useState<Route | 'new' | null>(null)
  const [asked, setAsked] = useState<Route | 'default' | null>(null)
  const routes = data?.routes ?? []
  const groups = groupRoutes(routes)
  const describe = (each: Route) =>
    describeRoute(each, model.id, providers.find(({ name }) => name === each.provider)?.slots)
  const setRoutes = (next: Route[]) => () =>
    kinoraAdmin.models.setRoutes(model.id, { routes: next.map(describe) })
  const close = () => {
    change.reset()
    setAsked(null)
  }
  const confirm = () => {
    if (asked === null) return
    change.mutate(
      asked === 'default'
        ? () => kinoraAdmin.models.deleteRoutes(model.id)
        : setRoutes(routes.filter((route) => route !== asked)),
      { onSuccess: close },
    )
  }
  const question = asked === 'default' || asked === null ? texts.confirmDefault : texts.confirmRemove
  const askedName = asked === null || asked === 'default' ? '' : asked.provider
  return (
    <Card
      title={texts.title}
      {...(data !== undefined && { note: texts.note[data.source] })}
      actions={
        mayChange && (
          <>
            {data?.source === 'record' && (
              <Button size="small" onPress={() => setAsked('default')}>
                {texts.useDefault}
              </Button>
            )}
            <Button size="small" icon={<Plus />} onPress={() => setEdited('new')}>
              {texts.add}
            </Button>
          </>
        )
      }
      isFlush
    >
      {error !== null && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton height={104} />}
      {typeof data?.problem === 'string' && (
        <div className={styles['empty']}>
          <Note kind="danger">
            <Prose text={data.problem} />
          </Note>
        </div>
      )}
      {data !== undefined && routes.length === 0 && (
        <p className={`${styles['empty']} muted`}>{texts.empty}</p>
      )}
      <ol className={styles['list']} aria-label={texts.title}>
        {groups.flatMap((group, place) =>
          group.map((route, index) => (
            <li
              key={`${route.provider} ${route.model}`}
              data-group={index > 0 || undefined}
              aria-label={route.provider}
            >
              <span className={styles['place']}>{place + 1}</span>
              <div className="grow">
                <p className="row wrap">
                  <Link to="/providers" search={{ name: route.provider }} className="medium link">
                    {route.provider}
                  </Link>
                  <Tag color={route.health.state === 'healthy' ? 'green' : 'red'}>
                    {texts[route.health.state]}
                  </Tag>
                </p>
                <RouteFacts route={route} model={model.id} group={group} />
              </div>
              {mayChange && (
                <div className={styles['tools']}>
                  {([-1, 1] as const).map((step) => (
                    <Button
                      key={step}
                      {...{ variant: 'ghost', size: 'small', isIcon: true }}
                      icon={step === -1 ? <ArrowUp /> : <ArrowDown />}
                      label={step === -1 ? texts.up(route.provider) : texts.down(route.provider)}
                      isDisabled={change.isPending || !mayMove(routes, route, step)}
                      onPress={() => change.mutate(setRoutes(moveRoute(routes, route, step)))}
                    />
                  ))}
                  <Button
                    {...{ variant: 'ghost', size: 'small', isIcon: true, icon: <Pencil /> }}
                    label={texts.edit(route.provider)}
                    onPress={() => setEdited(route)}
                  />
                  <Button
                    {...{ variant: 'ghost', size: 'small', isIcon: true, icon: <Trash2 /> }}
                    label={texts.remove(route.provider)}
                    onPress={() => setAsked(route)}
                  />
                </div>
              )}
            </li>
          )),
        )}
      </ol>
      {change.error !== null && asked === null && <ErrorPanel error={change.error} />}
      {routes.length > 1 && <p className={styles['foot']}>{texts.order}</p>}
      {edited !== null && (
        <RouteSheet
          model={model}
          edited={edited === 'new' ? undefined : edited}
          providers={providers.filter(({ kind, is_removed: isRemoved }) => {
            const protocol = protocols.find((each) => each.kind === kind)
            return !isRemoved && protocol?.capabilities.includes(model.kind) === true
          })}
          others={routes.filter((route) => route !== edited).map(describe)}
          onClose={() => setEdited(null)}
        />
      )}
      <Confirm
        isOpen={asked !== null}
        question={
          asked === 'default' || asked === null
            ? texts.confirmDefault.question(model.id)
            : texts.confirmRemove.question(askedName, model.id)
        }
        action={question.action}
        isBusy={change.isPending}
        error={change.error}
        onConfirm={confirm}
        onClose={close}
      >
        <p>{asked !== 'default' && routes.length === 1 ? texts.confirmRemove.last : question.effect}</p>
      </Confirm>
    </Card>
  )
}
