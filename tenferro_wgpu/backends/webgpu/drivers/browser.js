// The JavaScript half of the browser driver: objects by number, and one call per batch of commands.
//
// drivers/browser.py evaluates this file in Pyodide and is the only caller. A call from Python into
// JavaScript costs microseconds per argument, so a batch arrives as one typed array of numbers,
// bulk data is copied through views of Python's memory, and everything that WebGPU answers later
// (errors, finished work, mapped buffers) is one promise per wait.
(() => {
  const STORAGE_USAGE = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const STAGING_USAGE = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const PARAMS_USAGE = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;

  // Numbers per command: pipeline, bind group, workgroups x y z, bytes of params.
  const WORDS_PER_COMMAND = 6;

  // Idle staging buffers kept for the next read, and the size above which none is kept.
  const IDLE_STAGING_LIMIT = 4;
  const IDLE_STAGING_BYTES = 16 * 1024 * 1024;

  const alignUp = (value, alignment) => Math.ceil(value / alignment) * alignment;

  // A plain record of an adapter or a device, as JSON.
  function describe(adapter, owner) {
    const info = adapter.info ?? {};
    const limits = {};
    for (const name in owner.limits) limits[name] = owner.limits[name];
    return JSON.stringify({
      vendor: info.vendor ?? '',
      architecture: info.architecture ?? '',
      description: info.description ?? '',
      fallback: Boolean(info.isFallbackAdapter ?? adapter.isFallbackAdapter),
      features: [...owner.features],
      limits,
    });
  }

  async function requestAdapter() {
    if (!globalThis.navigator?.gpu) throw new Error('this page has no navigator.gpu');
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter) throw new Error('the browser offers no WebGPU adapter');
    return adapter;
  }

  async function findAdapter() {
    const adapter = await requestAdapter();
    return describe(adapter, adapter);
  }

  // An adapter object gives one device only, so each device asks for an adapter of its own.
  async function openDevice(features, maxBufferSize, maxStorageBufferBindingSize) {
    const adapter = await requestAdapter();
    const device = await adapter.requestDevice({
      requiredFeatures: [...features],
      requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
    });
    return new Device(device);
  }

  class Device {
    constructor(device) {
      this.device = device;
      this.queue = device.queue;
      this.lost = null;
      this.nextNumber = 1; // numbers are never reused, so a stale one is an error, not a mix-up
      this.buffers = new Map();
      this.pipelines = new Map();
      this.groups = new Map();
      this.layouts = new Map();
      this.idleStaging = [];
      this.mapped = new Map();
      this.pending = new Set(); // promises of error scopes that are not answered yet
      this.problems = [];
      this.paramsLayout = device.createBindGroupLayout({
        entries: [{
          binding: 0,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type: 'uniform', hasDynamicOffset: true },
        }],
      });
      this.paramsBindingSize = 0;
      this.paramsCapacity = 0;
      device.lost.then((info) => { this.lost = `${info.reason}: ${info.message}`; });
    }

    // Calls back once with the reason when the device goes away, `destroy` included.
    whenLost(callback) {
      this.device.lost.then(() => callback(this.lost));
    }

    // Remembers the answer of an error scope; `explain` turns an error into a problem record.
    watch(scope, explain) {
      const answered = scope
        .then((error) => (error ? explain(error) : null))
        .catch(() => null) // a lost device rejects, and is reported as lost
        .then((problem) => {
          if (problem) this.problems.push(problem);
          this.pending.delete(answered);
        });
      this.pending.add(answered);
    }

    createBuffer(size) {
      const number = this.nextNumber++;
      this.device.pushErrorScope('out-of-memory');
      this.device.pushErrorScope('validation');
      this.buffers.set(number, this.device.createBuffer({ size, usage: STORAGE_USAGE }));
      for (const _ of ['validation', 'out-of-memory']) {
        this.watch(this.device.popErrorScope(),
          (error) => ({ kind: 'memory', order: number, size, message: error.message }));
      }
      return number;
    }

    // WebGPU lets work that is submitted finish before the memory goes.
    destroyBuffers(numbers) {
      for (const number of numbers) {
        this.buffers.get(number)?.destroy();
        this.buffers.delete(number);
      }
    }

    forget(groups, pipelines) {
      for (const number of groups) this.groups.delete(number);
      for (const number of pipelines) this.pipelines.delete(number);
    }

    bindingLayout(bindings) {
      let layout = this.layouts.get(bindings);
      if (!layout) {
        const entries = bindings.split(',').filter(Boolean).map((access, binding) => ({
          binding,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type: access === 'read' ? 'read-only-storage' : 'storage' },
        }));
        layout = this.device.createBindGroupLayout({ entries });
        this.layouts.set(bindings, layout);
      }
      return layout;
    }

    createPipeline(code, bindings, hasParams, label) {
      const number = this.nextNumber++;
      const layout = this.bindingLayout(bindings);
      this.device.pushErrorScope('validation');
      const module = this.device.createShaderModule({ code, label });
      const bindGroupLayouts = hasParams ? [layout, this.paramsLayout] : [layout];
      const pipeline = this.device.createComputePipeline({
        label,
        layout: this.device.createPipelineLayout({ bindGroupLayouts }),
        compute: { module, entryPoint: 'main' },
      });
      this.pipelines.set(number, { pipeline, label });
      this.watch(this.device.popErrorScope(), async (error) => {
        const { messages } = await module.getCompilationInfo();
        const first = messages.find((message) => message.type === 'error');
        return {
          kind: 'shader',
          order: number,
          number,
          line: first?.lineNum ?? 0,
          message: first?.message ?? error.message,
        };
      });
      return number;
    }

    // `ranges` holds buffer, offset and size of each binding in turn.
    createBindGroup(bindings, ranges) {
      const number = this.nextNumber++;
      const entries = [];
      for (let at = 0; at < ranges.length; at += 3) {
        const buffer = this.buffers.get(ranges[at]);
        const resource = { buffer, offset: ranges[at + 1], size: ranges[at + 2] };
        entries.push({ binding: at / 3, resource });
      }
      this.device.pushErrorScope('validation');
      const layout = this.bindingLayout(bindings);
      this.groups.set(number, this.device.createBindGroup({ layout, entries }));
      this.watch(this.device.popErrorScope(),
        (error) => ({ kind: 'bindings', order: number, message: error.message }));
      return number;
    }

    // `view` is a Python buffer of bytes.
    writeBuffer(number, offset, view) {
      const source = view.getBuffer('u8');
      try {
        this.queue.writeBuffer(this.buffers.get(number), offset, source.data);
      } finally {
        source.release();
      }
    }

    // Params of a whole batch go into one uniform buffer, each at its dynamic offset, in one write.
    // That write is ordered after the previous submit, so one buffer serves every batch.
    placeParams(words, params) {
      const alignment = this.device.limits.minUniformBufferOffsetAlignment;
      let largest = this.paramsBindingSize;
      let total = 0;
      for (let at = 5; at < words.length; at += WORDS_PER_COMMAND) {
        largest = Math.max(largest, alignUp(words[at], alignment));
        total += alignUp(words[at], alignment);
      }
      if (total === 0) return [];
      const capacity = total + largest; // a binding may reach past the last block
      if (capacity > this.paramsCapacity || largest > this.paramsBindingSize) {
        this.paramsBuffer?.destroy();
        this.paramsCapacity = Math.max(capacity, 2 * this.paramsCapacity, 64 * alignment);
        this.paramsBindingSize = largest;
        this.paramsBytes = new Uint8Array(this.paramsCapacity);
        this.paramsBuffer =
          this.device.createBuffer({ size: this.paramsCapacity, usage: PARAMS_USAGE });
        this.paramsGroup = this.device.createBindGroup({
          layout: this.paramsLayout,
          entries: [{ binding: 0, resource: { buffer: this.paramsBuffer, size: largest } }],
        });
      }
      const offsets = [];
      let source = 0;
      let target = 0;
      for (let at = 5; at < words.length; at += WORDS_PER_COMMAND) {
        const size = words[at];
        offsets.push(target);
        this.paramsBytes.set(params.subarray(source, source + size), target);
        source += size;
        target += alignUp(size, alignment);
      }
      this.queue.writeBuffer(this.paramsBuffer, 0, this.paramsBytes, 0, target);
      return offsets;
    }

    // One compute pass over the commands `first` up to `last`.
    encode(encoder, words, offsets, first, last) {
      const pass = encoder.beginComputePass();
      let bound = 0;
      for (let index = first; index < last; index++) {
        const at = index * WORDS_PER_COMMAND;
        if (words[at] !== bound) {
          bound = words[at];
          pass.setPipeline(this.pipelines.get(bound).pipeline);
        }
        pass.setBindGroup(0, this.groups.get(words[at + 1]));
        if (words[at + 5] > 0) pass.setBindGroup(1, this.paramsGroup, [offsets[index]]);
        pass.dispatchWorkgroups(words[at + 2], words[at + 3], words[at + 4]);
      }
      pass.end();
    }

    // `copy` may add copies behind the commands to the same submission.
    submit(words, params, copy) {
      this.device.pushErrorScope('out-of-memory');
      this.device.pushErrorScope('validation');
      let offsets = [];
      try {
        const encoder = this.device.createCommandEncoder();
        offsets = this.placeParams(words, params);
        this.encode(encoder, words, offsets, 0, words.length / WORDS_PER_COMMAND);
        copy?.(encoder);
        this.queue.submit([encoder.finish()]);
      } finally {
        const order = this.nextNumber;
        this.watch(this.device.popErrorScope(), async (error) => {
          const { label, message } = await this.findInvalid(words, offsets);
          return { kind: 'batch', order, label, message: message || error.message };
        });
        this.watch(this.device.popErrorScope(),
          (error) => ({ kind: 'memory', order, size: 0, message: error.message }));
      }
    }

    // The first command of a refused batch that is invalid on its own: each is encoded, not run.
    async findInvalid(words, offsets) {
      for (let index = 0; index < words.length / WORDS_PER_COMMAND; index++) {
        const label = this.pipelines.get(words[index * WORDS_PER_COMMAND])?.label ?? '';
        const encoder = this.device.createCommandEncoder();
        this.device.pushErrorScope('validation');
        let message = '';
        try {
          this.encode(encoder, words, offsets, index, index + 1);
          encoder.finish();
        } catch (error) {
          message = String(error); // an object that was forgotten since
        }
        const error = await this.device.popErrorScope();
        if (error || message) return { label, message: error?.message ?? message };
      }
      return { label: '', message: '' };
    }

    // Resolves when every error scope opened so far is answered.
    async settle() {
      await Promise.all(this.pending);
    }

    async finish() {
      await this.queue.onSubmittedWorkDone();
      await this.settle();
    }

    // The problems found since the last call, in the order of the objects they speak of, as JSON.
    takeProblems() {
      if (this.problems.length === 0) return '';
      const found = this.problems.sort((left, right) => left.order - right.order);
      this.problems = [];
      return JSON.stringify(found);
    }

    takeStaging(size) {
      const at = this.idleStaging.findIndex((buffer) => buffer.size === size);
      if (at >= 0) return this.idleStaging.splice(at, 1)[0];
      return this.device.createBuffer({ size, usage: STAGING_USAGE });
    }

    // Submits the commands and copies of the ranges (buffer, offset, size in turn) in one go.
    // Resolves to a number for copyRead and endRead once the bytes are mapped, or to 0 where they
    // never will be: then the device is lost or a problem is recorded.
    async beginRead(words, params, ranges) {
      let size = 0;
      for (let at = 2; at < ranges.length; at += 3) size += ranges[at];
      const stagingSize = Math.max(256, 2 ** Math.ceil(Math.log2(size)));
      const staging = this.takeStaging(Math.min(stagingSize, this.device.limits.maxBufferSize));
      this.submit(words, params, (encoder) => {
        let target = 0;
        for (let at = 0; at < ranges.length; at += 3) {
          const source = this.buffers.get(ranges[at]);
          encoder.copyBufferToBuffer(source, ranges[at + 1], staging, target, ranges[at + 2]);
          target += ranges[at + 2];
        }
      });
      try {
        await staging.mapAsync(GPUMapMode.READ, 0, size);
      } catch (error) {
        staging.destroy();
        await this.settle();
        if (!this.lost && this.problems.length === 0) throw error;
        return 0;
      }
      await this.settle();
      const number = this.nextNumber++;
      this.mapped.set(number, { staging, bytes: new Uint8Array(staging.getMappedRange(0, size)) });
      return number;
    }

    // Copies mapped bytes from `offset` on into a Python buffer of bytes.
    copyRead(number, offset, view) {
      const target = view.getBuffer('u8');
      try {
        const { bytes } = this.mapped.get(number);
        target.data.set(bytes.subarray(offset, offset + target.data.length));
      } finally {
        target.release();
      }
    }

    endRead(number) {
      const { staging } = this.mapped.get(number);
      this.mapped.delete(number);
      staging.unmap();
      if (this.idleStaging.length < IDLE_STAGING_LIMIT && staging.size <= IDLE_STAGING_BYTES) {
        this.idleStaging.push(staging);
      } else {
        staging.destroy();
      }
    }

    destroy() {
      this.device.destroy();
      for (const table of [this.buffers, this.pipelines, this.groups, this.mapped]) table.clear();
    }
  }

  return { findAdapter, openDevice };
})()
