# JIM for the information provider of A-REX, which calls this once a minute. All that it says comes from `jim arc info`.
package JIMmod;

use strict;
use warnings;
use Cwd qw(realpath);
use Exporter;
use File::Basename qw(dirname);
use IPC::Open2;

our @ISA = ('Exporter');
our @EXPORT_OK = ('get_lrms_info', 'get_lrms_options_schema');

# Of A-REX's own environment, only what JIM reads: as shell/jim-home has it.
my @KEPT = qw(PATH HOME TMPDIR LANG TZ ARC_CONFIG ARC_LOCATION JIM_PYTHON JIM_SITE JIM_STATE);

my $jim = dirname(realpath(__FILE__)) . '/../jim';

sub get_lrms_options_schema {
    return { lrms => '', queues => { '*' => { users => [''] } }, jobs => [''] };
}

# What JIM says: of the site, of queues, and of these jobs.
sub ask_jim {
    my %told = (site => {}, queue => {}, job => {});
    my ($out, $in);
    local $SIG{PIPE} = 'IGNORE'; # it may end before it has read all
    local %ENV = map { exists $ENV{$_} ? ($_ => $ENV{$_}) : () } @KEPT;
    my $pid = eval { open2($out, $in, $jim, 'arc', 'info') };
    unless ($pid) { warn "$jim arc info cannot be started: $@"; return \%told }
    print $in join("\n", @_), "\n";
    close $in;
    while (my $line = <$out>) {
        chomp $line;
        my ($what, $name, $rest) = split / /, $line, 3;
        if ($what eq 'site') { $told{site}{$name} = $rest }
        elsif ($what eq 'queue') { my ($key, $value) = split / /, $rest, 2; $told{queue}{$name}{$key} = $value }
        elsif ($what eq 'job') { $told{job}{$name} = [split / /, $rest, 2] }
    }
    waitpid $pid, 0;
    warn "$jim arc info failed: ", $? & 127 ? 'signal ' . ($? & 127) : 'exit code ' . ($? >> 8), "\n" if $? > 0;
    return \%told;
}

sub get_lrms_info($) {
    my ($asked) = @_;
    my $told = ask_jim(@{ $asked->{jobs} });
    my $site = $told->{site};
    my $slots = $site->{slots} || 0;
    my $busy = $slots - ($site->{free_slots} // $slots);
    my %info = (
        cluster => {
            lrms_type => 'jim', lrms_version => '1', totalcpus => $slots, usedcpus => $busy,
            queuedcpus => $site->{pending} || 0, queuedjobs => $site->{pending} || 0, runningjobs => $busy,
            cpudistribution => $slots ? "${slots}cpu:1" : '1cpu:0',
        },
        queues => {}, jobs => {}, nodes => {},
    );
    for my $name (keys %{ $asked->{queues} }) {
        my $room = $told->{queue}{$name} || $site;
        my $all = $room->{slots} || $slots;
        my $free = $room->{free_slots} // $all;
        my %queue = (
            status => $all, maxrunning => $all, running => $all - $free, queued => $room->{pending} || 0,
            totalcpus => $all, users => {},
        );
        $queue{maxwalltime} = $site->{most_wall_seconds} if $site->{most_wall_seconds};
        $queue{defaultwallt} = $site->{wall_seconds} if $site->{wall_seconds};
        $queue{users}{$_} = { freecpus => { $free => 0 }, queuelength => $queue{queued} }
            for @{ $asked->{queues}{$name}{users} };
        $info{queues}{$name} = \%queue;
    }
    for my $id (@{ $asked->{jobs} }) {
        my ($status, $comment) = @{ $told->{job}{$id} || ['O', ''] };
        $info{jobs}{$id} = { status => $status, comment => [$comment ? ("JIM: $comment") : ()], rank => 0 };
    }
    return \%info;
}

1;
