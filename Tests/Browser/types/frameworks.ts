// What a program in TypeScript writes with the adapters for frameworks: compiled by the tests, never run.

import type { ID } from '../../../Public/livefetch.js';
import { connect } from '../../../Public/livefetch.js';
import { LiveTarget } from '../../../Public/livefetch/event-target.js';
import { useLive } from '../../../Public/livefetch/react.js';
import { createLive } from '../../../Public/livefetch/solid.js';
import { liveStore } from '../../../Public/livefetch/svelte.js';
import { useLive as useLiveInVue } from '../../../Public/livefetch/vue.js';

interface City { id: number; name: string }
const client = connect();

export function react(isWanted: boolean): unknown[] {
  const cities = useLive<City>(client, isWanted ? { entity: 'City' } : null, { suspense: true });
  const names: string[] = cities.data?.sections[0].items.map(({ name }) => name) ?? [];
  const total: number | undefined = useLive(client, { entity: 'City', as: 'count' }).data?.total;
  const first: ID | undefined = useLive(client, { entity: 'City', as: 'ids' }).data?.sections[0].items[0];
  // @ts-expect-error a city has no such attribute
  cities.data?.sections[0].items[0].size;
  // @ts-expect-error data is null before the first result
  cities.data.sections;
  // @ts-expect-error a count has no sections
  useLive(client, { entity: 'City', as: 'count' }).data?.sections;
  return [names, total, first, cities.error?.code, cities.state === 'idle'];
}

export function others() {
  const { data, state } = useLiveInVue<City>(client, () => ({ entity: 'City', sort: 'name' }));
  const name: string | undefined = data.value?.sections[0].items[0].name;
  liveStore(client, { entity: 'City', as: 'count' }).subscribe(({ data }) => data?.total.toFixed());
  const total: number | undefined = createLive(client, () => ({ entity: 'City', as: 'count' as const })).data?.total;
  const target = new LiveTarget<'objects', City>(client, { entity: 'City' });
  target.addEventListener('change', () => target.data?.sections[0].items[0].name);
  target.request = { entity: 'City', sort: 'name' };
  // @ts-expect-error a target of objects follows no count
  target.request = { entity: 'City', as: 'count' };
  // @ts-expect-error the state is a ref
  if (state === 'live') return undefined;
  return [name, total];
}
